/**
 * Parses messages (MIME, RFC 2045 and 2046) for the whole daemon: simple and small ones at once, others in a few worker
 * threads with bounded memory and time. read.ts parses without threads.
 */
import { createThreads, ThreadEndedError, type MemoryScheduler } from '../capacity/capacity.ts'
import type { Clock } from '../clock/clock.ts'
import { refuse } from '../mail/refusals.ts'
import { splitHeader, type Header } from './entity.ts'
import { readComposedMessage } from './read-composed.ts'
import {
  extractAttachment,
  readMessage,
  tryFastRead,
  TOO_MANY_PARTS,
  type MessageContent,
  type AttachmentKey,
} from './read.ts'

export type { MessageContent, AttachmentKey } from './read.ts'

/**
 * Maximum size parsed on the event loop, in octets; takes a few milliseconds. A hostile 256 KB takes more than a
 * minute: with `<a href="` repeated, the parser's time grows with the cube of the size.
 */
const SMALL = 4 * 1024
/** The same limit for messages composed here, which need little more than decoding. */
const SMALL_COMPOSED = 64 * 1024
/** Number of threads. Each message needs up to three times its size in one. */
const THREADS = 3
/**
 * Messages above this size (octets) are parsed one at a time. Buffers are outside the heap: 32 MB of short lines need
 * 200 MB in total.
 */
const HEAVY = 8 * 1024 * 1024
/** Heap of a thread in MB. A real message of 40 MB needs 180. */
const HEAP_MB = 256
/** Maximum number of jobs of one team that may wait for a thread. */
const WAITING = 32
/**
 * Time limit for a message, after which it is refused (milliseconds). A real one of 40 MB took 3.4 s on a busy machine.
 */
const DEADLINE = 10_000

/** A job for the thread. */
export type ReadJob =
  | { kind: 'message' | 'composed'; message: Uint8Array }
  | { kind: 'attachment'; message: Uint8Array; which: AttachmentKey }

/** The result, by the kind of job. */
export type ReadResult = MessageContent | Pick<MessageContent, 'html' | 'text'> | Uint8Array | undefined

/** An attachment to extract from a stored message. */
export interface AttachmentRequest {
  /** The team whose memory share is used. */
  teamId: string
  /** Size of the message in octets. */
  size: number
  load: () => Promise<Uint8Array | undefined>
  which: AttachmentKey
}

/** Parses messages, round robin over teams. `team` is the message's owner, null for strangers. */
export interface MimeReader {
  /**
   * Parses any message. Refuses: `overloaded`; `message_malformed` when it has too many parts, is nested too deeply, or
   * needs too much time or memory.
   * @param header the message's header, if already parsed
   */
  read(message: Uint8Array, team: string | null, header?: Header): Promise<MessageContent>
  /** Extracts the HTML and text of a message composed here, exactly as they were given. Refuses: `overloaded`. */
  readComposed(message: Uint8Array, team: string): Promise<Pick<MessageContent, 'html' | 'text'>>
  /** Extracts an attachment; undefined when the message or the attachment doesn't exist. Refuses: `overloaded`. */
  attachment(wanted: AttachmentRequest): Promise<Uint8Array | undefined>
  close(): Promise<void>
}

export function createMimeReader({ clock, turns }: { clock: Clock; turns: MemoryScheduler }): MimeReader {
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
      const quick = tryFastRead(message, header)
      if (quick) return quick
      try {
        if (message.length <= SMALL) return await readMessage(message)
        return (await inThread({ kind: 'message', message }, team)) as MessageContent
      } catch (error) {
        throw malformed(error) ?? error
      }
    },
    async readComposed(message, team) {
      if (message.length <= SMALL_COMPOSED) return readComposedMessage(message)
      return (await inThread({ kind: 'composed', message }, team).catch(busy)) as MessageContent
    },
    async attachment({ teamId, size, load, which }) {
      using turn = size > SMALL ? await turns.take(teamId, size) : undefined
      const message = await load()
      if (!message) return undefined
      if (!turn) return extractAttachment(message, which)
      const found = await inThread({ kind: 'attachment', message, which }, teamId).catch(busy)
      return found as Uint8Array | undefined
    },
    close: () => threads.close(),
  }
}

/** Maps an error to a refusal if the parser can't, or must not, finish the message; undefined for all other errors. */
function malformed(error: unknown): Error | undefined {
  const no = (expected: string) => refuse('message_malformed', { expected })
  if (error instanceof ThreadEndedError) return no('parsing its parts takes too much time or memory')
  if (!(error instanceof Error)) return undefined
  if (error.message === TOO_MANY_PARTS) return no(TOO_MANY_PARTS)
  return /nesting|header/i.test(error.message) ? no('its parts are nested too deeply') : undefined
}

/** Maps every error to `overloaded`. The message was composed here or parsed before, so a later call succeeds. */
function busy(error: unknown): never {
  throw error instanceof ThreadEndedError ? refuse('overloaded') : error
}
