/** Reads stored messages (MIME, RFC 2045 and 2046): small ones at once, large ones in threads. */
import { createThreads, ThreadEnded, type Turns } from '../capacity/capacity.ts'
import type { Clock } from '../clock/clock.ts'
import { refuse } from '../mail/refusals.ts'
import { extract, type Which } from './extract.ts'

export type { Which } from './extract.ts'

/** Parsed on the event loop up to this size in octets: some milliseconds (intake/message-reader.ts). */
const SMALL = 4 * 1024
const THREADS = 2
/** Heap of a thread in MB, and how long it may take for a message (milliseconds). */
const HEAP_MB = 256
const DEADLINE = 20_000
/** Requests of one team that may wait. */
const WAITING = 16

/** An attachment of a message that is not loaded yet. */
export interface Wanted {
  /** Whose memory it takes. */
  teamId: string
  /** Of the message, in octets. */
  size: number
  load: () => Promise<Uint8Array | undefined>
  which: Which
}

export interface MimeReader {
  /** The octets of an attachment; undefined when there is no message, or none like it in it. Refuses: `overloaded`. */
  attachment(wanted: Wanted): Promise<Uint8Array | undefined>
}

/** What the thread is asked. */
export interface ExtractJob {
  message: Uint8Array
  which: Which
}

export function createMimeReader({ clock, turns }: { clock: Clock; turns: Turns }): MimeReader {
  const threads = createThreads<ExtractJob, Uint8Array | undefined>({
    ...{ script: new URL('extract-worker.ts', import.meta.url), clock, most: THREADS, waiting: WAITING },
    ...{ deadlineMs: DEADLINE, heapMb: HEAP_MB },
  })
  return {
    async attachment({ teamId, size, load, which }) {
      using turn = size > SMALL ? await turns.take(teamId, size) : undefined
      const message = await load()
      if (!message) return undefined
      if (!turn) return extract(message, which)
      try {
        return await threads.run({ message, which }, teamId)
      } catch (error) {
        if (error instanceof ThreadEnded && error.why !== 'crash') throw refuse('overloaded')
        throw error
      }
    },
  }
}
