/** Where arrived messages are read: small ones at once, all others in threads, a few at a time and none of them for ever. */
import { Worker } from 'node:worker_threads'
import type { Clock } from '../clock/clock.ts'
import { refuse } from '../mail/refusals.ts'
import { readContent, type MessageContent } from './message-content.ts'

/**
 * Read on the event loop up to this size in bytes, in some milliseconds; the worst that can be written takes a fifth of a second. Of 256 KB the
 * worst takes more than a minute: with `<a href="` again and again the parser's work grows with the cube of the size.
 */
const SMALL = 16 * 1024
/** Other messages that are read at one time, each with up to three times its size in memory. */
const MOST_AT_ONCE = 2
/** Messages that may wait for their turn. */
const MAX_WAITING = 64
/** A message that takes longer is given up (milliseconds). An honest one of 40 MB took 3.4 s on a busy machine. */
const DEADLINE = 60_000
/** A thread without work ends after so long (milliseconds): starting one costs more than reading a message. */
const KEPT = 60_000

export interface MessageReader {
  /** Refuses: `overloaded`, `message_malformed`. */
  read(message: Uint8Array): Promise<MessageContent>
}

/** What a thread answers. */
export type ThreadReply = { content: MessageContent } | { error: Error }

export function createMessageReader({ clock }: { clock: Clock }): MessageReader {
  const threads = new Threads(clock)
  const waiting: (() => void)[] = []
  let running = 0
  const inTurn = async (message: Uint8Array): Promise<MessageContent> => {
    if (running < MOST_AT_ONCE) running++
    else if (waiting.length < MAX_WAITING) await new Promise<void>((resolve) => waiting.push(resolve))
    else throw refuse('overloaded')
    try {
      return await threads.read(message)
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

/** Threads that read one message after the other, each started when it is wanted. */
class Threads {
  readonly #clock: Clock
  /** Those without work, each with what takes the timer of its end back. */
  readonly #idle: { thread: Worker; keep: () => void }[] = []

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async read(message: Uint8Array): Promise<MessageContent> {
    const thread = this.#take()
    let reply: ThreadReply
    try {
      reply = await ask(thread, message, this.#clock)
    } catch (error) {
      // A thread that died or does not come to an end is not asked again.
      await thread.terminate()
      throw error
    }
    this.#giveBack(thread)
    if ('error' in reply) throw reply.error
    return reply.content
  }

  #take(): Worker {
    const kept = this.#idle.pop()
    kept?.keep()
    return kept?.thread ?? new Worker(new URL('message-worker.ts', import.meta.url))
  }

  #giveBack(thread: Worker): void {
    const keep = this.#clock.after(KEPT, () => {
      this.#idle.splice(this.#idle.indexOf(one), 1)
      void thread.terminate()
    })
    const one = { thread, keep }
    this.#idle.push(one)
  }
}

/** Has a thread read a message. An idle one does not keep the process alive. */
function ask(thread: Worker, message: Uint8Array, clock: Clock): Promise<ThreadReply> {
  return new Promise((resolve, reject) => {
    const finish = (done: () => void) => {
      cancel()
      thread.off('message', onMessage).off('error', onError).off('exit', onExit)
      thread.unref()
      done()
    }
    const onMessage = (reply: ThreadReply) => finish(() => resolve(reply))
    const onError = (error: Error) => finish(() => reject(error))
    const onExit = (code: number) =>
      onError(new Error(`The thread that reads messages ended with code ${code}.`))
    const cancel = clock.after(DEADLINE, () => onError(tooComplex()))
    thread.on('message', onMessage).on('error', onError).on('exit', onExit)
    thread.ref()
    thread.postMessage(message)
  })
}

const tooComplex = () =>
  refuse('message_malformed', { expected: `reading its parts takes longer than ${DEADLINE / 1000} seconds` })
