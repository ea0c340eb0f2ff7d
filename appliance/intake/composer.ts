/**
 * Where messages are composed: small ones at once on the event loop, heavy ones one after the other in a worker thread,
 * because making text from 60 KB of html takes up to 50 ms, in which nobody else would be served.
 */
import { Worker } from 'node:worker_threads'
import type { Clock } from '../clock/clock.ts'
import { refuse } from '../mail/refusals.ts'
import { compose, type Composed, type Draft } from './compose.ts'

/** Heaviest draft that is composed on the event loop, in `weigh` units: about 5 ms. */
const HEAVY = 32 * 1024
/** Drafts that may wait for the worker; beyond, callers are told to come back. */
const MAX_WAITING = 64
/** And their size in all, in bytes. */
const MAX_WAITING_BYTES = 256 * 1024 * 1024
/** A draft that takes longer is given up (milliseconds). Honest ones of 40 MB take under 2 s, html made to hurt minutes. */
const DEADLINE = 10_000

export interface Composer {
  /** Refuses: `overloaded`, `invalid_field` (html) when it takes too long. */
  compose(draft: Draft): Promise<Composed>
  close(): Promise<void>
}

interface Job {
  draft: Draft
  resolve: (composed: Composed) => void
  reject: (error: unknown) => void
}

/** What the worker answers. */
export type WorkerReply = { composed: Composed } | { error: Error }

export function createComposer({ clock }: { clock: Clock }): Composer {
  const waiting: Job[] = []
  let waitingBytes = 0
  let worker: Worker | null = null
  let busy = false

  function next(): void {
    const job = busy ? undefined : waiting.shift()
    if (!job) return
    waitingBytes -= sizeOf(job.draft)
    busy = true
    worker ??= startWorker()
    void runInWorker(worker, job.draft, clock)
      .then(job.resolve, async (error: unknown) => {
        // A worker that failed or hangs is not asked again.
        const failed = worker
        worker = null
        await failed?.terminate()
        job.reject(error)
      })
      .finally(() => {
        busy = false
        next()
      })
  }

  return {
    async compose(draft) {
      if (weigh(draft) <= HEAVY) return compose(draft)
      if (waiting.length >= MAX_WAITING || waitingBytes > MAX_WAITING_BYTES) throw refuse('overloaded')
      waitingBytes += sizeOf(draft)
      return new Promise((resolve, reject) => {
        waiting.push({ draft, resolve, reject })
        next()
      })
    },
    async close() {
      for (const job of waiting.splice(0)) job.reject(refuse('shutting_down'))
      await worker?.terminate()
      worker = null
    },
  }
}

/** Bytes of content. */
function sizeOf({ html, text, attachments }: Draft): number {
  const files = attachments.reduce((sum, { content }) => sum + content.byteLength, 0)
  return (html?.length ?? 0) + (text?.length ?? 0) + files
}

/** Work, in bytes of html that becomes text: encoding alone is about eight times cheaper. */
function weigh(draft: Draft): number {
  const converting = draft.text === null ? (draft.html?.length ?? 0) : 0
  return converting + sizeOf(draft) / 8
}

function startWorker(): Worker {
  const worker = new Worker(new URL('compose-worker.ts', import.meta.url))
  // An idle worker must not keep the process alive.
  worker.unref()
  return worker
}

function runInWorker(worker: Worker, draft: Draft, clock: Clock): Promise<Composed> {
  return new Promise((resolve, reject) => {
    const finish = (done: () => void) => {
      cancel()
      worker.off('message', onMessage).off('error', onError).off('exit', onExit)
      worker.unref()
      done()
    }
    const onError = (error: Error) => finish(() => reject(error))
    const onExit = (code: number) => onError(new Error(`The composing thread ended with code ${code}.`))
    const onMessage = (reply: WorkerReply) =>
      'error' in reply ? onError(reply.error) : finish(() => resolve(reply.composed))
    const cancel = clock.after(DEADLINE, () => onError(tooLong(draft)))
    worker.on('message', onMessage).on('error', onError).on('exit', onExit)
    worker.ref()
    worker.postMessage(draft)
  })
}

/** Only making text of html can take long by itself; with anything else the machine is too busy, and later it goes. */
function tooLong({ html, text }: Draft): Error {
  if (html === null || text !== null) return refuse('overloaded')
  const expected = 'something simpler, it takes too long to make its text version; or send a `text` with it'
  return refuse('invalid_field', { field: 'html', expected })
}
