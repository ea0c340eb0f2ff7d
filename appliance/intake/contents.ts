/** Reads the content of stored emails, from their row or from their message. */
import type { MemoryScheduler } from '../capacity/capacity.ts'
import type { Clock } from '../clock/clock.ts'
import { Refusal, refuse } from '../mail/refusals.ts'
import type { MimeReader } from '../mime/mime.ts'
import type { Email, Storage } from '../storage/storage.ts'
import { restoreContent, type Content } from './composed-content.ts'

/** Size above which a message waits for a turn, to limit memory (bytes). */
const SMALL = 64 * 1024

export interface EmailContentReader {
  /** Returns HTML and text of an email; null for a part that is missing or deleted. Refuses: `overloaded`. */
  of(email: Pick<Email, 'id' | 'teamId' | 'via' | 'size' | 'content'>): Promise<Content>
}

export function createEmailContentReader({
  storage,
  clock,
  turns,
  mime,
}: {
  storage: Pick<Storage, 'getMessage'>
  clock: Clock
  turns: MemoryScheduler
  mime: Pick<MimeReader, 'read' | 'readComposed'>
}): EmailContentReader {
  return {
    async of({ id, teamId, via, size, content }) {
      if (content.place === 'row') return { html: content.html, text: content.text }
      using _turn = size > SMALL ? await turns.take(teamId, size) : undefined
      const message = await storage.getMessage({ emailId: id }, clock.now())
      // Deleted since the email was read.
      if (!message) return { html: null, text: null }
      if (via !== 'smtp') return restoreContent(content, await mime.readComposed(message, teamId))
      const { html, text } = await mime.read(message, teamId).catch(later)
      return { html, text }
    },
  }
}

/** Maps a refusal to `overloaded`. The message could be parsed on arrival, so a failure now is only temporary. */
function later(error: unknown): never {
  throw error instanceof Refusal ? refuse('overloaded') : error
}
