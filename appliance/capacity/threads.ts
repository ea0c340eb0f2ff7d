/**
 * Runs work that would block the event loop in worker threads: a few at a time, round robin over teams, with bounded
 * memory and time.
 */
import { Worker, type Transferable } from 'node:worker_threads'
import type { Clock } from '../clock/clock.ts'
import { refuse } from '../mail/refusals.ts'

export interface ThreadOptions {
  /** The worker's script: it answers each message with one `ThreadResponse`. */
  script: URL
  clock: Clock
  /** Maximum number of threads. */
  most: number
  /** Maximum number of waiting jobs of one team. */
  waiting: number
  /** Time limit of a job in milliseconds. */
  deadlineMs: number
  /** Heap of each thread in MB. A job that needs more ends its thread. */
  heapMb: number
}

/** A worker's response to a job. */
export type ThreadResponse<T> = { result: T } | { error: Error }

/** A job was ended from outside the thread. */
export class ThreadEndedError extends Error {
  /** The limit that the job exceeded. In both cases, the input is the cause. */
  readonly why: 'time' | 'memory'

  constructor(why: ThreadEndedError['why']) {
    super(`The worker thread was ended: ${why}.`)
    this.why = why
  }
}

export interface Threads<I, T> {
  /**
   * Runs a job in a thread. Refuses: `overloaded`, also when the thread dies or can't start. Rejects with the thread's
   * error, or with `ThreadEndedError`.
   * @param team the job's owner; null for strangers
   * @param how moved: buffers in `input` to transfer to the thread; heavy: the job may need so much memory that only
   * one such job runs at a time
   */
  run(input: I, team: string | null, how?: { moved?: Transferable[]; heavy?: boolean }): Promise<T>
  close(): Promise<void>
}

/** How long an idle thread is kept, in milliseconds. Starting one costs more than most jobs. */
const KEPT_MS = 60_000

interface Job<I, T> {
  input: I
  moved: Transferable[]
  heavy: boolean
  settle: { resolve: (result: T) => void; reject: (error: unknown) => void }
}

export function createThreads<I, T>(options: ThreadOptions): Threads<I, T> {
  return new Pool<I, T>(options)
}

class Pool<I, T> implements Threads<I, T> {
  readonly #options: ThreadOptions
  /** Waiting jobs by team, in round-robin order. */
  readonly #queues = new Map<string, Job<I, T>[]>()
  /** Teams with a running job. */
  readonly #running = new Set<string>()
  readonly #idle = new Map<Worker, () => void>()
  readonly #busy = new Set<Worker>()
  /** Whether a heavy job is running. */
  #heavy = false
  #closed = false

  constructor(options: ThreadOptions) {
    this.#options = options
  }

  run(
    input: I,
    teamId: string | null,
    { moved = [], heavy = false }: { moved?: Transferable[]; heavy?: boolean } = {},
  ): Promise<T> {
    const team = teamId ?? ''
    const queue = this.#queues.get(team) ?? []
    if (this.#closed) return Promise.reject(refuse('shutting_down'))
    if (queue.length >= this.#options.waiting) return Promise.reject(refuse('overloaded'))
    return new Promise<T>((resolve, reject) => {
      queue.push({ input, moved, heavy, settle: { resolve, reject } })
      this.#queues.set(team, queue)
      this.#next()
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const queue of this.#queues.values())
      for (const { settle } of queue) settle.reject(refuse('shutting_down'))
    this.#queues.clear()
    for (const cancel of this.#idle.values()) cancel()
    await Promise.all([...this.#idle.keys(), ...this.#busy].map((worker) => worker.terminate()))
    this.#idle.clear()
  }

  #next(): void {
    for (const [team, queue] of [...this.#queues]) {
      if (this.#busy.size >= this.#options.most) return
      // Only one thread per team, so that a job that reaches its deadline delays only its own team.
      if (this.#running.has(team) || (this.#heavy && queue[0]!.heavy)) continue
      const job = queue.shift()!
      this.#queues.delete(team)
      if (queue.length > 0) this.#queues.set(team, queue)
      this.#running.add(team)
      if (job.heavy) this.#heavy = true
      void this.#work(job).finally(() => {
        if (job.heavy) this.#heavy = false
        this.#running.delete(team)
        this.#next()
      })
    }
  }

  async #work({ input, moved, heavy, settle }: Job<I, T>): Promise<void> {
    let worker: Worker | undefined
    try {
      worker = this.#take()
      this.#busy.add(worker)
      const answer = await ask<I, T>(worker, input, moved, this.#options)
      this.#busy.delete(worker)
      // An idle thread would hold on to the memory of a heavy job.
      if (heavy) void worker.terminate()
      else this.#giveBack(worker)
      if ('error' in answer) settle.reject(answer.error)
      else settle.resolve(answer.result)
    } catch (error) {
      // A thread that died or hangs gets no further job.
      await worker?.terminate()
      if (worker) this.#busy.delete(worker)
      settle.reject(this.#closed ? refuse('shutting_down') : error)
    }
  }

  #take(): Worker {
    for (const [worker, keep] of this.#idle) {
      keep()
      this.#idle.delete(worker)
      return worker
    }
    const { script, heapMb } = this.#options
    const resourceLimits = { maxOldGenerationSizeMb: heapMb, maxYoungGenerationSizeMb: 16 }
    return new Worker(script, { resourceLimits })
  }

  #giveBack(worker: Worker): void {
    if (this.#closed) return void worker.terminate()
    const end = (): void => {
      this.#idle.delete(worker)
      void worker.terminate()
    }
    this.#idle.set(worker, this.#options.clock.after(KEPT_MS, end))
  }
}

/** Posts a job to a thread and waits for the result. An idle thread doesn't keep the process alive. */
function ask<I, T>(
  worker: Worker,
  input: I,
  moved: Transferable[],
  { clock, deadlineMs }: ThreadOptions,
): Promise<ThreadResponse<T>> {
  return new Promise((resolve, reject) => {
    const finish = (done: () => void): void => {
      cancel()
      worker.off('message', onMessage).off('error', onError).off('exit', onExit)
      worker.unref()
      done()
    }
    const onMessage = (answer: ThreadResponse<T>): void => finish(() => resolve(answer))
    const onError = (error: NodeJS.ErrnoException): void => finish(() => reject(whyEnded(error)))
    const onExit = (): void => finish(() => reject(refuse('overloaded')))
    const cancel = clock.after(deadlineMs, () => finish(() => reject(new ThreadEndedError('time'))))
    worker.on('message', onMessage).on('error', onError).on('exit', onExit)
    worker.ref()
    worker.postMessage(input, moved)
  })
}

/** Maps a failure to start a thread, for lack of threads or memory, to `overloaded`: the job isn't at fault. */
function whyEnded(error: NodeJS.ErrnoException): Error {
  if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') return new ThreadEndedError('memory')
  return error.code === 'ERR_WORKER_INIT_FAILED' ? refuse('overloaded') : error
}
