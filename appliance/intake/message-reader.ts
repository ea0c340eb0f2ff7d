/** Where arrived messages are read: small ones at once, large ones in a thread, a few at a time. */
import { Worker } from 'node:worker_threads'
import { refuse } from '../mail/refusals.ts'
import { readContent, type MessageContent } from './message-content.ts'

/** Read on the event loop up to this size in bytes: about 5 ms. */
const SMALL = 256 * 1024
/** Large messages that are read at one time, each with up to three times its size in memory. */
const MOST_AT_ONCE = 2
/** Large messages that may wait for their turn. */
const MAX_WAITING = 64

export interface MessageReader {
  /** Refuses: `overloaded`, `message_malformed`. */
  read(message: Uint8Array): Promise<MessageContent>
}

export function createMessageReader(): MessageReader {
  const waiting: (() => void)[] = []
  let running = 0
  const inTurn = async (message: Uint8Array): Promise<MessageContent> => {
    if (running < MOST_AT_ONCE) running++
    else if (waiting.length < MAX_WAITING) await new Promise<void>((resolve) => waiting.push(resolve))
    else throw refuse('overloaded')
    try {
      return await readInThread(message)
    } finally {
      // The place goes to the next in line, or is free.
      const next = waiting.shift()
      if (next) next()
      else running--
    }
  }
  return {
    async read(message) {
      try {
        return await (message.length <= SMALL ? readContent(message) : inTurn(message))
      } catch (error) {
        if (error instanceof Error && /nesting|header/i.test(error.message))
          throw refuse('message_malformed', { expected: 'its parts are nested too deeply' })
        throw error
      }
    },
  }
}

function readInThread(message: Uint8Array): Promise<MessageContent> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('message-worker.ts', import.meta.url), { workerData: message })
    worker.on('message', resolve)
    worker.on('error', reject)
    worker.on('exit', (code) => reject(new Error(`The thread that reads messages ended with code ${code}.`)))
  })
}
