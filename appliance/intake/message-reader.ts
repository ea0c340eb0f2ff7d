/** Where messages are read: small ones at once, all others in threads, a few at a time and none of them for ever. */
import { createThreads, ThreadEnded } from '../capacity/capacity.ts'
import type { Clock } from '../clock/clock.ts'
import { refuse } from '../mail/refusals.ts'
import type { StoredContent } from '../storage/storage.ts'
import { readBack, type Content } from './composed-content.ts'
import {
  readContent,
  readPlainContent,
  readUsualContent,
  TOO_MANY_PARTS,
  type MessageContent,
} from './message-content.ts'
import { splitHeader } from './message-fields.ts'

/**
 * Read on the event loop up to this size in octets, in some milliseconds. Of 256 KB the worst takes more than a minute: with
 * `<a href="` again and again the parser's work grows with the cube of the size.
 */
const SMALL = 4 * 1024
/** The same for messages that were composed here, which take little more than decoding. */
const SMALL_COMPOSED = 64 * 1024
/** Threads; each message takes up to three times its size in one. */
const THREADS = 3
/** Larger messages are read one at a time: buffers are beside the heap, and one of 32 MB of short lines takes 200 MB in all. */
const HEAVY = 8 * 1024 * 1024
/** Heap of a thread in MB. An honest message of 40 MB takes 180. */
const HEAP_MB = 256
/** Messages of one team that may wait for a thread. */
const WAITING = 32
/** A message that takes longer is refused (milliseconds). An honest one of 40 MB took 3.4 s on a busy machine. */
const DEADLINE = 10_000

/** What a thread is asked. */
export interface ReadJob {
  message: Uint8Array
  /** Of a message that was composed here; null for one that arrived. */
  stored: StoredContent | null
}

export interface MessageReader {
  /**
   * Reads a message that only the parser understands. Refuses: `overloaded`, `message_malformed`.
   * @param team whose message it is; null: a stranger's
   */
  read(message: Uint8Array, team: string | null): Promise<MessageContent>
  /** Html and text of a message that arrived and was stored. Refuses: `overloaded`. */
  readArrived(message: Uint8Array, team: string): Promise<Content>
  /** Html and text of a message that was composed here. Refuses: `overloaded`. */
  readBack(stored: StoredContent, message: Uint8Array, team: string): Promise<Content>
  close(): Promise<void>
}

export function createMessageReader({ clock }: { clock: Clock }): MessageReader {
  const threads = createThreads<ReadJob, Content>({
    ...{ script: new URL('message-worker.ts', import.meta.url), clock, most: THREADS, waiting: WAITING },
    ...{ deadlineMs: DEADLINE, heapMb: HEAP_MB },
  })
  const inThread = (job: ReadJob, team: string | null): Promise<Content> =>
    threads.run(job, team, { heavy: job.message.length > HEAVY })
  const parse = async (message: Uint8Array, team: string | null): Promise<MessageContent> =>
    message.length <= SMALL
      ? readContent(message)
      : ((await inThread({ message, stored: null }, team)) as MessageContent)
  return {
    async read(message, team) {
      try {
        return await parse(message, team)
      } catch (error) {
        if (error instanceof ThreadEnded && error.why !== 'crash') throw tooComplex()
        if (error instanceof Error && error.message === TOO_MANY_PARTS)
          throw refuse('message_malformed', { expected: TOO_MANY_PARTS })
        if (error instanceof Error && /nesting|header/i.test(error.message))
          throw refuse('message_malformed', { expected: 'its parts are nested too deeply' })
        throw error
      }
    },
    async readArrived(message, team) {
      const header = splitHeader(message)
      const { html, text } =
        readPlainContent(message, header) ??
        readUsualContent(message, header) ??
        (await parse(message, team).catch(busy))
      return { html, text }
    },
    async readBack(stored, message, team) {
      if (message.length <= SMALL_COMPOSED) return readBack(stored, message)
      return inThread({ message, stored }, team).catch(busy)
    },
    close: () => threads.close(),
  }
}

/** It was read when it came, or is of our own making: later it goes. */
function busy(error: unknown): never {
  throw error instanceof ThreadEnded && error.why !== 'crash' ? refuse('overloaded') : error
}

const tooComplex = () =>
  refuse('message_malformed', { expected: 'parsing its parts takes too much time or memory' })
