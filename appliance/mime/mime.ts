/** Reads stored messages (MIME, RFC 2045 and 2046): small ones at once, large ones in a thread of their own. */
import { Worker } from 'node:worker_threads'
import { refuse } from '../mail/refusals.ts'
import { extract, type Which } from './extract.ts'

export type { Which } from './extract.ts'

/** Parsed on the event loop up to this size: some milliseconds, and a fifth of a second of the worst that can be written (intake/message-reader.ts). */
const SMALL = 16 * 1024
/** Large messages in memory at one time, each with up to three times its size. */
const MOST_AT_ONCE = 2
/** Callers that may wait for their turn. */
const MAX_WAITING = 32

/** An attachment of a message that is not loaded yet. */
export interface Wanted {
  /** Of the message, in bytes. */
  size: number
  load: () => Promise<Uint8Array | undefined>
  which: Which
}

export interface MimeReader {
  /** The bytes of an attachment; undefined when there is no message, or none like it in it. Refuses: `overloaded`. */
  attachment(wanted: Wanted): Promise<Uint8Array | undefined>
}

export function createMimeReader(): MimeReader {
  const inTurn = createTurns()
  const read = async (
    { load, which }: Wanted,
    take: (message: Uint8Array, which: Which) => Promise<Uint8Array | undefined>,
  ) => {
    const message = await load()
    return message && (await take(message, which))
  }
  return {
    attachment: (wanted) =>
      wanted.size <= SMALL ? read(wanted, extract) : inTurn(() => read(wanted, extractInThread)),
  }
}

/** Runs work `MOST_AT_ONCE` at a time, in the order of asking. */
function createTurns(): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = []
  let running = 0
  return async (work) => {
    if (running < MOST_AT_ONCE) running++
    else if (waiting.length < MAX_WAITING) await new Promise<void>((resolve) => waiting.push(resolve))
    else throw refuse('overloaded')
    try {
      return await work()
    } finally {
      // The place goes to the next in line, or is free.
      const next = waiting.shift()
      if (next) next()
      else running--
    }
  }
}

function extractInThread(message: Uint8Array, which: Which): Promise<Uint8Array | undefined> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('extract-worker.ts', import.meta.url), {
      workerData: { message, which },
    })
    worker.on('message', (content: Uint8Array | null) => resolve(content ?? undefined))
    worker.on('error', reject)
    worker.on('exit', (code) => reject(new Error(`The thread that reads messages ended with code ${code}.`)))
  })
}
