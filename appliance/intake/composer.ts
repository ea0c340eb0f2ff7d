/**
 * Composes messages: small ones on the event loop, heavy ones one after the other in a worker thread. Converting 60 KB
 * of HTML to text takes up to 50 ms, which would block all other requests.
 */
import { setImmediate } from 'node:timers/promises'
import { createThreads, ThreadEndedError } from '../capacity/capacity.ts'
import type { Clock } from '../clock/clock.ts'
import { refuse } from '../mail/refusals.ts'
import { composeMessage, TOO_MANY_TAGS, type ComposedMessage } from './compose.ts'
import type { Draft } from './compose-plain.ts'

/** Limit for composing on the event loop, in `weigh` units: about 5 ms. */
const HEAVY = 32 * 1024
const THREADS = 3
/**
 * Heavier drafts, in the same units, are composed one at a time: converting HTML with 500,000 tags to text takes up to
 * 300 MB.
 */
const ALONE = 1024 * 1024
/** Heap of a thread in MB. A 40 MB draft needs 150. */
const HEAP_MB = 256
/** Maximum number of drafts of one team that can wait for a thread. */
const WAITING = 64
/**
 * Time limit for composing a draft in milliseconds, after which it is refused. Ordinary ones of 40 MB take under 2 s,
 * malicious HTML takes minutes.
 */
const DEADLINE = 10_000

export interface Composer {
  /**
   * Composes a message. Refuses: `overloaded`, `invalid_field` (html) if converting it to text takes too long or too
   * much memory.
   * @param team owner of the draft
   */
  compose(draft: Draft, team: string): Promise<ComposedMessage>
  close(): Promise<void>
}

export function createComposer({ clock }: { clock: Clock }): Composer {
  const threads = createThreads<Draft, ComposedMessage>({
    script: new URL('compose-worker.ts', import.meta.url),
    clock,
    most: THREADS,
    waiting: WAITING,
    deadlineMs: DEADLINE,
    heapMb: HEAP_MB,
  })
  return {
    async compose(draft, team) {
      if (weigh(draft) <= HEAVY) return composeMessage(draft)
      try {
        const shared = { ...draft, attachments: await share(draft.attachments) }
        return await threads.run(shared, team, { heavy: weigh(draft) > ALONE })
      } catch (error) {
        if (error instanceof ThreadEndedError) throw tooLong(draft)
        if (error instanceof Error && error.message === TOO_MANY_TAGS)
          throw refuse('invalid_field', { field: 'html', expected: TOO_MANY_TAGS })
        throw error
      }
    },
    close: () => threads.close(),
  }
}

/** Bytes of a file that are copied per turn of the event loop. */
const TURN = 1024 * 1024

/**
 * Copies large files to shared memory, a chunk per turn. Posting them to a thread would copy everything in one turn.
 */
async function share(attachments: Draft['attachments']): Promise<Draft['attachments']> {
  const shared: Draft['attachments'] = []
  for (const attachment of attachments) {
    const { content } = attachment
    if (content.byteLength <= TURN) {
      shared.push(attachment)
      continue
    }
    const copy = new Uint8Array(new SharedArrayBuffer(content.byteLength))
    for (let at = 0; at < content.byteLength; at += TURN) {
      copy.set(content.subarray(at, at + TURN), at)
      await setImmediate()
    }
    shared.push({ ...attachment, content: copy })
  }
  return shared
}

/** Returns the size of the content in bytes. */
function sizeOf({ html, text, attachments }: Draft): number {
  const files = attachments.reduce((sum, { content }) => sum + content.byteLength, 0)
  return (html?.length ?? 0) + (text?.length ?? 0) + files
}

/** Estimates the work, in bytes of HTML to convert to text. Encoding alone is about eight times cheaper. */
function weigh(draft: Draft): number {
  const converting = draft.text === null ? (draft.html?.length ?? 0) : 0
  return converting + sizeOf(draft) / 8
}

/**
 * Only converting HTML to text can take long by itself. Otherwise the machine is too busy, and a retry will succeed.
 */
function tooLong({ html, text }: Draft): Error {
  if (html === null || text !== null) return refuse('overloaded')
  const expected = 'simpler HTML, or an additional `text`; converting this HTML to text takes too long'
  return refuse('invalid_field', { field: 'html', expected })
}
