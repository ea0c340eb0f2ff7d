/**
 * Reads messages (MIME, RFC 2045 and 2046) for the whole daemon: common and small ones at once, all others in threads, a few at a time,
 * with bounded memory and time. What reads without threads is in read.ts.
 */
import { createThreads, ThreadEnded, type Turns } from '../capacity/capacity.ts'
import type { Clock } from '../clock/clock.ts'
import { refuse } from '../mail/refusals.ts'
import { splitHeader, type Header } from './entity.ts'
import { readComposed } from './read-composed.ts'
import {
  readAttachment,
  readMessage,
  readQuickly,
  TOO_MANY_PARTS,
  type MessageContent,
  type Which,
} from './read.ts'

export type { MessageContent, Which } from './read.ts'

/**
 * Parsed on the event loop up to this size in octets, in some milliseconds. Of 256 KB the worst takes more than a minute: with
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
/** Jobs of one team that may wait for a thread. */
const WAITING = 32
/** A message that takes longer is refused (milliseconds). An honest one of 40 MB took 3.4 s on a busy machine. */
const DEADLINE = 10_000

/** What a thread is asked. */
export type ReadJob =
  | { kind: 'message' | 'composed'; message: Uint8Array }
  | { kind: 'attachment'; message: Uint8Array; which: Which }

/** What it answers, by the kind of the job. */
export type ReadResult = MessageContent | Pick<MessageContent, 'html' | 'text'> | Uint8Array | undefined

/** An attachment of a message that is not loaded yet. */
export interface Wanted {
  /** Whose memory it takes. */
  teamId: string
  /** Of the message, in octets. */
  size: number
  load: () => Promise<Uint8Array | undefined>
  which: Which
}

/** All methods take turns among teams; `team` says whose message it is, null: a stranger's. */
export interface MimeReader {
  /**
   * Reads any message whole. Refuses: `overloaded`; `message_malformed` for one with too many parts, nested too deeply, or made to take too
   * much time or memory.
   * @param header of the message, where it was read before
   */
  read(message: Uint8Array, team: string | null, header?: Header): Promise<MessageContent>
  /** Html and text of a message that was composed here, exactly as they were given. Refuses: `overloaded`. */
  readComposed(message: Uint8Array, team: string): Promise<Pick<MessageContent, 'html' | 'text'>>
  /** The octets of an attachment; undefined when there is no message, or none like it in it. Refuses: `overloaded`. */
  attachment(wanted: Wanted): Promise<Uint8Array | undefined>
  close(): Promise<void>
}

export function createMimeReader({ clock, turns }: { clock: Clock; turns: Turns }): MimeReader {
  const threads = createThreads<ReadJob, ReadResult>({
    script: new URL('mime-worker.ts', import.meta.url),
    clock,
    most: THREADS,
    waiting: WAITING,
    deadlineMs: DEADLINE,
    heapMb: HEAP_MB,
  })
  const inThread = (job: ReadJob, team: string | null): Promise<ReadResult> =>
    threads.run(job, team, { heavy: job.message.length > HEAVY })
  return {
    async read(message, team, header = splitHeader(message)) {
      const quick = readQuickly(message, header)
      if (quick) return quick
      try {
        if (message.length <= SMALL) return await readMessage(message)
        return (await inThread({ kind: 'message', message }, team)) as MessageContent
      } catch (error) {
        throw malformed(error) ?? error
      }
    },
    async readComposed(message, team) {
      if (message.length <= SMALL_COMPOSED) return readComposed(message)
      return (await inThread({ kind: 'composed', message }, team).catch(busy)) as MessageContent
    },
    async attachment({ teamId, size, load, which }) {
      using turn = size > SMALL ? await turns.take(teamId, size) : undefined
      const message = await load()
      if (!message) return undefined
      if (!turn) return readAttachment(message, which)
      const found = await inThread({ kind: 'attachment', message, which }, teamId).catch(busy)
      return found as Uint8Array | undefined
    },
    close: () => threads.close(),
  }
}

/** The refusal of a message that the parser could not, or must not, read to its end; undefined for every other error. */
function malformed(error: unknown): Error | undefined {
  const no = (expected: string) => refuse('message_malformed', { expected })
  if (error instanceof ThreadEnded) return no('parsing its parts takes too much time or memory')
  if (!(error instanceof Error)) return undefined
  if (error.message === TOO_MANY_PARTS) return no(TOO_MANY_PARTS)
  return /nesting|header/i.test(error.message) ? no('its parts are nested too deeply') : undefined
}

/** It was read when it came, or is of our own making: later it goes. */
function busy(error: unknown): never {
  throw error instanceof ThreadEnded ? refuse('overloaded') : error
}
