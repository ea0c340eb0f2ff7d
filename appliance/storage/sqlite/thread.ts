/** Storage threads, both ends: what the main thread says to one, and the life of the thread itself. */
import { parentPort, receiveMessageOnPort, type Transferable, Worker } from 'node:worker_threads'
import { StorageFailure, StorageLost, StorageRefused } from './failures.ts'
import type { Batch, Call, Outcome } from './group-commit.ts'
import { watchSpareMemory } from '../../watch/spare-memory.ts'

interface Pending {
  resolve: (value: unknown) => void
  reject: (error: Error) => void
}

/**
 * Messages on their way to the thread: with one more than it works on, it never waits for the next. What comes meanwhile
 * goes together: fewer threads are woken, and more calls share a commit.
 */
const MOST_POSTED = 2

/** A call that the thread has not been told of yet. */
interface Unsent {
  call: Call
  transfer: Transferable[]
}

/** Which program a thread runs, and on what. */
export interface ThreadOptions {
  name: string
  script: URL
  data: object
  /** Told once when the thread ends without having been asked to. */
  onLost: (error: StorageLost) => void
  /** Told after each commit that stored events. */
  onEvents?: (() => void) | undefined
}

/** The main thread's end of a storage thread: posts calls, and settles their promises when the answers come. */
export class Thread {
  /** Commits that the thread has made. */
  commits = 0
  /** Calls that it has answered. */
  calls = 0
  /** The methods of the port that it runs. */
  methods: readonly MethodRef[] = []
  readonly #worker: Worker
  readonly #onLost: (error: StorageLost) => void
  readonly #onEvents: (() => void) | undefined
  readonly #pending = new Map<number, Pending>()
  readonly #unsent: Unsent[] = []
  /** The last call of each message that is not answered yet; the thread answers calls in their order. */
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
    this.#worker.on('message', (report: Report) => this.#hear(report))
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
   * @throws StorageRefused with the thread's own sentence when it cannot use the database
   */
  static async start(options: ThreadOptions): Promise<Thread> {
    const thread = new Thread(options)
    await thread.#opened.promise
    return thread
  }

  /** Resolves with what the method returns there; rejects with `StorageFailure`, or `StorageLost`. */
  call<T>(method: string, args: unknown, now: number, transfer: Transferable[] = []): Promise<T> {
    if (this.#lost) return Promise.reject(this.#lost)
    const id = ++this.#lastId
    return new Promise<T>((resolve, reject) => {
      this.#pending.set(id, { resolve: (value) => resolve(value as T), reject })
      if (this.#unsent.length === 0) setImmediate(() => this.#sendWhenRoom())
      this.#unsent.push({ call: { id, method, args, now }, transfer })
    })
  }

  /** Ends the thread after everything that was asked before. */
  async close(): Promise<void> {
    this.#send()
    this.#state = 'closing'
    const request: Request = { kind: 'close' }
    if (!this.#lost) this.#worker.postMessage(request)
    await this.#ended.promise
  }

  #sendWhenRoom(): void {
    if (this.#posted.length < MOST_POSTED) this.#send()
  }

  /** Posts what was asked for since the last time as one message: waking a thread costs more than most calls do. */
  #send(): void {
    const unsent = this.#unsent.splice(0)
    if (unsent.length === 0 || this.#lost) return
    try {
      this.#post(unsent)
    } catch {
      // The arguments of some call are no plain data. Nothing was sent: one by one, it is known whose.
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
    const request: Request = { kind: 'calls', calls: unsent.map(({ call }) => call) }
    this.#worker.postMessage(
      request,
      unsent.flatMap(({ transfer }) => transfer),
    )
    this.#posted.push(unsent.at(-1)!.call.id)
  }

  #hear(report: Report): void {
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

  #settle(outcome: Outcome): void {
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

/** What the main thread says to a storage thread; `close` comes last. */
export type Request = { kind: 'calls'; calls: Call[] } | { kind: 'close' }

/** What a storage thread answers: first `ready` or `refused`, then outcomes; its end is the end of the thread. */
export type Report =
  | { kind: 'ready'; methods: MethodRef[] }
  | { kind: 'refused'; message: string }
  | ({ kind: 'outcomes' } & Batch)

/** A method that a thread runs, and the noun that lists it (nouns.ts). */
export interface MethodRef {
  noun: string
  name: string
}

/** What a storage thread does with calls, most `most` at once, and when it is told to end. */
export interface Service {
  most: number
  /** The methods of the port that it runs. */
  methods: MethodRef[]
  execute(calls: Call[]): Promise<Batch>
  close(): void
}

/**
 * The life of a storage thread: opens, then answers calls in the order in which they came, taking together what
 * arrived while the last batch ran. An error that escapes ends the thread, and the main thread hears of it.
 */
export function serve(open: () => Service): void {
  const port = parentPort
  if (!port) throw new Error('This file runs as a thread of the storage, not by itself.')
  const report = (message: Report, transfer: Transferable[] = []): void => port.postMessage(message, transfer)
  let service: Service
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
  const take = (request: Request): void => {
    if (request.kind === 'calls') waiting.push(...request.calls)
    else closing = true
  }
  const drain = async (): Promise<void> => {
    running = true
    for (;;) {
      while (waiting.length < service.most) {
        const next = receiveMessageOnPort(port)
        if (!next) break
        take(next.message as Request)
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
  port.on('message', (request: Request) => {
    take(request)
    if (!running) void drain()
  })
  report({ kind: 'ready', methods: service.methods })
}

/** Bytes that own their whole buffer move to the other thread; a view of a larger one is copied by the clone. */
function transferable(outcome: Outcome): Transferable[] {
  if (!('value' in outcome) || !(outcome.value instanceof Uint8Array)) return []
  const { buffer, byteLength } = outcome.value
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : []
}
