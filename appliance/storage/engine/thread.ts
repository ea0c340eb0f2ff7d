/** Storage threads: the part in the main thread, and the thread itself. */
import { parentPort, receiveMessageOnPort, type Transferable, Worker } from 'node:worker_threads'
import { replaceNul } from '../text.ts'
import { StorageFailure, StorageLost, StorageRefused } from './failures.ts'
import type { Batch, Call, CallResult } from './group-commit.ts'
import { watchSpareMemory } from '../../watch/spare-memory.ts'

interface Pending {
  resolve: (value: unknown) => void
  reject: (error: Error) => void
}

/**
 * Maximum number of messages posted at a time: the one that the thread works on, and another, so that the thread never
 * has to wait. Calls that arrive meanwhile are sent together, so that threads wake up less often and more calls share a
 * commit.
 */
const MOST_POSTED = 2

/** A call that hasn't been posted yet. */
interface Unsent {
  call: Call
  transfer: Transferable[]
}

/** The program of a thread and its data. */
export interface ThreadOptions {
  name: string
  script: URL
  data: object
  /** Called once if the thread ends unexpectedly. */
  onLost: (error: StorageLost) => void
  /** Called after each commit that stored events. */
  onEvents?: (() => void) | undefined
}

/** The part of a storage thread in the main thread: posts calls, and settles their promises when the results arrive. */
export class Thread {
  /** Number of commits made by the thread. */
  commits = 0
  /** Number of calls answered by the thread. */
  calls = 0
  /** The storage methods that the thread runs. */
  methods: readonly MethodRef[] = []
  readonly #worker: Worker
  readonly #onLost: (error: StorageLost) => void
  readonly #onEvents: (() => void) | undefined
  readonly #pending = new Map<number, Pending>()
  readonly #unsent: Unsent[] = []
  /** ID of the last call in each message that isn't answered yet. The thread answers calls in order. */
  readonly #posted: number[] = []
  readonly #opened = Promise.withResolvers<undefined>()
  readonly #ended = Promise.withResolvers<undefined>()
  #lastId = 0
  #state: 'opening' | 'open' | 'closing' = 'opening'
  #lost: StorageLost | undefined

  private constructor({ name, script, data, onLost, onEvents }: ThreadOptions) {
    this.#onLost = onLost
    this.#onEvents = onEvents
    this.#worker = new Worker(script, { workerData: data, name })
    this.#worker.on('message', (report: ThreadReport) => this.#hear(report))
    this.#worker.on('messageerror', (error) => this.#lose(error.message))
    this.#worker.on('error', (error: unknown) =>
      this.#lose(error instanceof Error ? error.message : String(error)),
    )
    this.#worker.on('exit', (code) => {
      if (this.#state !== 'closing' || this.#pending.size > 0)
        this.#lose(`its thread ended with code ${code}`)
      this.#ended.resolve(undefined)
    })
  }

  /**
   * Starts the thread and waits until it is open.
   * @throws StorageRefused with the thread's message if it can't use the database
   */
  static async start(options: ThreadOptions): Promise<Thread> {
    const thread = new Thread(options)
    await thread.#opened.promise
    return thread
  }

  /**
   * Calls a method, after replacing U+0000 in texts with U+FFFD. Resolves with its result. Rejects with
   * `StorageFailure` or `StorageLost`.
   */
  call<T>(method: string, args: unknown, now: number, transfer: Transferable[] = []): Promise<T> {
    if (this.#lost) return Promise.reject(this.#lost)
    const id = ++this.#lastId
    return new Promise<T>((resolve, reject) => {
      this.#pending.set(id, { resolve: (value) => resolve(value as T), reject })
      if (this.#unsent.length === 0) setImmediate(() => this.#sendWhenRoom())
      this.#unsent.push({ call: { id, method, args: replaceNul(args), now }, transfer })
    })
  }

  /** Number of calls without a result yet. */
  get waiting(): number {
    return this.#pending.size
  }

  /** Ends the thread after all earlier calls. */
  async close(): Promise<void> {
    this.#send()
    this.#state = 'closing'
    const request: ThreadRequest = { kind: 'close' }
    if (!this.#lost) this.#worker.postMessage(request)
    await this.#ended.promise
  }

  #sendWhenRoom(): void {
    if (this.#posted.length < MOST_POSTED) this.#send()
  }

  /** Posts all new calls as one message, because waking a thread costs more than most calls. */
  #send(): void {
    const unsent = this.#unsent.splice(0)
    if (unsent.length === 0 || this.#lost) return
    try {
      this.#post(unsent)
    } catch {
      // The arguments of one call can't be cloned, so nothing was sent. Send the calls one by one, so that only that
      // call fails.
      for (const one of unsent) this.#sendAlone(one)
    }
  }

  #sendAlone(one: Unsent): void {
    try {
      this.#post([one])
    } catch (error) {
      const { id } = one.call
      this.#pending.get(id)?.reject(error as Error)
      this.#pending.delete(id)
    }
  }

  #post(unsent: Unsent[]): void {
    const request: ThreadRequest = { kind: 'calls', calls: unsent.map(({ call }) => call) }
    this.#worker.postMessage(
      request,
      unsent.flatMap(({ transfer }) => transfer),
    )
    this.#posted.push(unsent.at(-1)!.call.id)
  }

  #hear(report: ThreadReport): void {
    switch (report.kind) {
      case 'ready':
        this.#state = 'open'
        this.methods = report.methods
        return this.#opened.resolve(undefined)
      case 'refused':
        this.#state = 'closing'
        return this.#opened.reject(new StorageRefused(report.message))
      case 'outcomes':
        if (report.committed) this.commits += 1
        this.calls += report.outcomes.length
        report.outcomes.forEach((outcome) => this.#settle(outcome))
        if (report.told) this.#onEvents?.()
        return this.#sendWhenRoom()
    }
  }

  #settle(outcome: CallResult): void {
    const pending = this.#pending.get(outcome.id)
    this.#pending.delete(outcome.id)
    if (this.#posted[0] === outcome.id) this.#posted.shift()
    if ('failure' in outcome) pending?.reject(new StorageFailure(outcome.failure))
    else pending?.resolve(outcome.value)
  }

  #lose(reason: string): void {
    if (this.#lost) return
    this.#lost = new StorageLost(reason)
    for (const { reject } of this.#pending.values()) reject(this.#lost)
    this.#pending.clear()
    if (this.#state === 'opening') this.#opened.reject(this.#lost)
    else this.#onLost(this.#lost)
    void this.#worker.terminate()
  }
}

/** A message to a storage thread. `close` is the last one. */
export type ThreadRequest = { kind: 'calls'; calls: Call[] } | { kind: 'close' }

/** A message from a storage thread: first `ready` or `refused`, then outcomes. The thread ends after the last one. */
export type ThreadReport =
  | { kind: 'ready'; methods: MethodRef[] }
  | { kind: 'refused'; message: string }
  | ({ kind: 'outcomes' } & Batch)

/** A method that a thread runs, and the noun that lists it (nouns.ts). */
export interface MethodRef {
  noun: string
  name: string
}

/** The service of a storage thread: executes at most `most` calls at a time, and closes the storage. */
export interface ThreadService {
  most: number
  /** The storage methods that it executes. */
  methods: MethodRef[]
  execute(calls: Call[]): Promise<Batch>
  close(): void
}

/**
 * Runs a storage thread: opens the storage, then answers calls in order. Calls that arrive during a batch form the next
 * batch. An uncaught error ends the thread and is reported to the main thread.
 */
export function runThread(open: () => ThreadService): void {
  const port = parentPort
  if (!port) throw new Error('This file runs as a thread of the storage, not by itself.')
  const report = (message: ThreadReport, transfer: Transferable[] = []): void =>
    port.postMessage(message, transfer)
  let service: ThreadService
  try {
    service = open()
  } catch (error) {
    if (!(error instanceof StorageRefused)) throw error
    report({ kind: 'refused', message: error.message })
    port.close()
    return
  }

  const leaveMemory = watchSpareMemory()
  const waiting: Call[] = []
  let running = false
  let closing = false
  const take = (request: ThreadRequest): void => {
    if (request.kind === 'calls') waiting.push(...request.calls)
    else closing = true
  }
  const drain = async (): Promise<void> => {
    running = true
    for (;;) {
      while (waiting.length < service.most) {
        const next = receiveMessageOnPort(port)
        if (!next) break
        take(next.message as ThreadRequest)
      }
      if (waiting.length === 0) break
      const batch = await service.execute(waiting.splice(0, service.most))
      report({ kind: 'outcomes', ...batch }, batch.outcomes.flatMap(transferable))
    }
    running = false
    if (!closing) return
    leaveMemory()
    service.close()
    port.close()
  }
  port.on('message', (request: ThreadRequest) => {
    take(request)
    if (!running) void drain()
  })
  report({ kind: 'ready', methods: service.methods })
}

/**
 * Returns the byte arrays that own their whole buffer, which are moved to the other thread. Views of a larger buffer
 * are copied.
 */
function transferable(outcome: CallResult): Transferable[] {
  if (!('value' in outcome) || !(outcome.value instanceof Uint8Array)) return []
  const { buffer, byteLength } = outcome.value
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : []
}
