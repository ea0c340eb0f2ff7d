/** Where arrived messages are read: small ones at once, all others in threads, a few at a time and none of them for ever. */
import { createThreads, ThreadEnded } from '../capacity/capacity.ts'
import type { Clock } from '../clock/clock.ts'
import { refuse } from '../mail/refusals.ts'
import { readContent, TOO_MANY_PARTS, type MessageContent } from './message-content.ts'

/**
 * Read on the event loop up to this size in octets, in some milliseconds. Of 256 KB the worst takes more than a minute: with
 * `<a href="` again and again the parser's work grows with the cube of the size.
 */
const SMALL = 4 * 1024
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

export interface MessageReader {
  /**
   * Refuses: `overloaded`, `message_malformed`.
   * @param team whose message it is; null: a stranger's
   */
  read(message: Uint8Array, team: string | null): Promise<MessageContent>
  close(): Promise<void>
}

export function createMessageReader({ clock }: { clock: Clock }): MessageReader {
  const threads = createThreads<Uint8Array, MessageContent>({
    ...{ script: new URL('message-worker.ts', import.meta.url), clock, most: THREADS, waiting: WAITING },
    ...{ deadlineMs: DEADLINE, heapMb: HEAP_MB },
  })
  return {
    async read(message, team) {
      try {
        if (message.length <= SMALL) return await readContent(message)
        return await threads.run(message, team, { heavy: message.length > HEAVY })
      } catch (error) {
        if (error instanceof ThreadEnded && error.why !== 'crash') throw tooComplex()
        if (error instanceof Error && error.message === TOO_MANY_PARTS)
          throw refuse('message_malformed', { expected: TOO_MANY_PARTS })
        if (error instanceof Error && /nesting|header/i.test(error.message))
          throw refuse('message_malformed', { expected: 'its parts are nested too deeply' })
        throw error
      }
    },
    close: () => threads.close(),
  }
}

const tooComplex = () =>
  refuse('message_malformed', { expected: 'parsing its parts takes too much time or memory' })
