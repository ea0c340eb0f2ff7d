/** Assembles the `Storage` from the two threads of an engine and the storage for large messages. */
import { crashPoint } from '../watch/crash-points.ts'
import type { LargeMessageStore } from './bodies.ts'
import type { PurgeRowsResult } from './retention.ts'
import type { StoreArgs, StoredEmail, StoreReportArgs } from './spool/put.ts'
import { copyForRow, removeAll, storeLarge } from './engine/large-messages.ts'
import { createReceivedFileMethods } from './engine/received-files.ts'
import type { Thread } from './engine/thread.ts'
import type {
  NewEmail,
  PurgeArgs,
  PurgeResult,
  PutArgs,
  PutResult,
  ReadMethods,
  ReadOnlyStorage,
  ReportRef,
  Storage,
  WriteMethods,
} from './storage.ts'

/** The part of a logger that the storage needs. */
export interface StorageLog {
  info(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** The storage of an engine, with methods that `Storage` doesn't have. */
export interface EngineStorage extends Storage {
  /** Number of write calls answered so far, of the commits that they shared, and of calls without a result yet. */
  stats(): { commits: number; calls: number; waiting: number }
  /** Returns the names of a noun's methods that write (nouns.ts). */
  writesOf(noun: string): string[]
}

/** The parts of a storage. */
interface Parts {
  writer: Thread
  reader: Thread
  bodies: LargeMessageStore
  logger: StorageLog | undefined
  databaseServer?: Storage['databaseServer']
}

/** Combines the threads and the storage for large messages. */
export const assembleStorage = (parts: Parts): EngineStorage => new Assembly(parts).storage

/**
 * Creates a storage with only the reading thread, for commands that must not change anything, not even the schema.
 * There is no writing thread, and no sweep of message files.
 */
export function createReadOnlyStorage(reader: Thread): ReadOnlyStorage {
  const calls = reader.methods.map(({ name }) => [
    name,
    (args: unknown, now: number): Promise<unknown> => reader.call(name, args, now),
  ])
  // The types match, because the names come from the list of methods that the thread runs.
  const methods = Object.fromEntries(calls) as ReadMethods
  return { ...methods, close: () => reader.close() }
}

/** How often messages without a row are removed, in milliseconds, besides at the start. */
const SWEEP_MS = 24 * 60 * 60 * 1000

class Assembly {
  readonly storage: EngineStorage
  readonly #writer: Thread
  readonly #reader: Thread
  readonly #bodies: LargeMessageStore
  readonly #databaseServer: Storage['databaseServer']
  readonly #unfinished = new Set<Promise<unknown>>()
  readonly #sweeping: NodeJS.Timeout
  #closed: Promise<void> | undefined

  constructor({ writer, reader, bodies, logger, databaseServer = async () => null }: Parts) {
    this.#databaseServer = databaseServer
    this.#writer = writer
    this.#reader = reader
    this.#bodies = bodies
    this.storage = this.#port()
    void this.#track(this.#sweep(logger))
    this.#sweeping = setInterval(() => void this.#track(this.#sweep(logger)), SWEEP_MS)
    this.#sweeping.unref()
  }

  #port(): EngineStorage {
    const received = createReceivedFileMethods({
      writer: this.#writer,
      reader: this.#reader,
      bodies: this.#bodies,
    })
    return {
      ...this.#oneCalls(),
      put: (args, now) => this.#open(() => this.#put(args, now)),
      putReport: (args, now) => this.#open(() => this.#putReport(args, now)),
      getMessage: (args, now) => this.#open(() => this.#message(args, now)),
      purgeBodies: (args, now) => this.#open(() => this.#purge('purgeBodies', args, now)),
      purgeUnkeptBodies: (args, now) => this.#open(() => this.#purge('purgeUnkeptBodies', args, now)),
      purgeEmails: (args, now) => this.#open(() => this.#purge('purgeEmails', args, now)),
      keepReceivedEmails: (args, now) => this.#open(() => received.keepReceivedEmails(args, now)),
      getReceivedSource: (args, now) => this.#open(() => received.getReceivedSource(args, now)),
      purgeReceived: (args, now) => this.#open(() => received.purgeReceived(args, now)),
      eraseStep: (args, now) => this.#open(() => received.eraseStep(args, now)),
      surveyErasure: (args, now) => this.#open(() => received.surveyErasure(args, now)),
      writesOf: (noun) => this.#writer.methods.filter((one) => one.noun === noun).map(({ name }) => name),
      stats: () => ({
        commits: this.#writer.commits,
        calls: this.#writer.calls,
        waiting: this.#writer.waiting + this.#reader.waiting,
      }),
      databaseServer: () => this.#open(() => this.#databaseServer()),
      probeBodies: () => this.#open(async () => (await this.#bodies.probe?.()) ?? null),
      close: () => (this.#closed ??= this.#close()),
    }
  }

  /** The types match, because the names come from the lists of methods that the threads run. */
  #oneCalls(): ReadMethods & WriteMethods {
    const calls = [this.#reader, this.#writer].flatMap((thread) =>
      thread.methods.map(({ name }) => [
        name,
        (args: unknown, now: number) => this.#call(thread, name, args, now),
      ]),
    )
    return Object.fromEntries(calls) as ReadMethods & WriteMethods
  }

  #call(thread: Thread, method: string, args: unknown, now: number): Promise<unknown> {
    return this.#open(() => thread.call(method, args, now))
  }

  /** Starts an operation unless the storage is closed. `close` waits for it. */
  #open<T>(begin: () => Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(new Error('The storage is closed.'))
    return this.#track(begin())
  }

  #track<T>(work: Promise<T>): Promise<T> {
    this.#unfinished.add(work)
    const done = (): void => void this.#unfinished.delete(work)
    work.then(done, done)
    return work
  }

  #put({ emails, receipt, quota, step }: PutArgs, now: number): Promise<PutResult> {
    return this.#store(
      emails,
      (stored, bodies) => {
        const args: StoreArgs = { emails: stored, receipt, quota, step }
        return this.#writer.call<PutResult>('put', args, now, bodies)
      },
      ({ kind }) => kind === 'stored',
    )
  }

  #putReport({ report, ...about }: ReportRef & { report: NewEmail }, now: number): Promise<boolean> {
    return this.#store(
      [report],
      ([email], bodies) => {
        const args: StoreReportArgs = { ...about, email: email! }
        return this.#writer.call<boolean>('putReport', args, now, bodies)
      },
      (made) => made,
    )
  }

  #store<T>(
    emails: NewEmail[],
    store: (stored: StoredEmail[], bodies: ArrayBuffer[]) => Promise<T>,
    isStored: (result: T) => boolean,
  ): Promise<T> {
    const messages = emails.map(({ id, message }) => ({ id, bytes: message }))
    const storeRows = () => {
      const stored = emails.map((email) => toStored(this.#bodies, email))
      return store(
        stored,
        stored.flatMap(({ body }) => body?.buffer ?? []),
      )
    }
    return storeLarge(this.#bodies, messages, storeRows, isStored)
  }

  async #message(args: { emailId: string }, now: number): Promise<Uint8Array | undefined> {
    const body = await this.#reader.call<Uint8Array | null | undefined>('messageBody', args, now)
    return body === null ? this.#bodies.read(args.emailId) : body
  }

  /**
   * Removes rows before files. A crash between the two leaves a file without a row, which the sweep removes. In the
   * opposite order, it would leave a row without its file.
   */
  async #purge(
    method: 'purgeBodies' | 'purgeUnkeptBodies' | 'purgeEmails',
    args: PurgeArgs,
    now: number,
  ): Promise<PurgeResult> {
    const { files, ...purged } = await this.#writer.call<PurgeRowsResult>(method, args, now)
    if (purged.count > 0) crashPoint('retention')
    await removeAll(this.#bodies, files)
    return purged
  }

  /** Sweeps in the background. A failure is harmless, so it is only logged. */
  async #sweep(logger: StorageLog | undefined): Promise<void> {
    try {
      const existing = (ids: string[]) => this.#reader.call<string[]>('messagesInFiles', { ids }, 0)
      const removed = await this.#bodies.sweep(existing, () => this.#closed !== undefined)
      if (removed > 0) logger?.info({ files: removed }, 'removed message files without an email')
    } catch (error) {
      logger?.error({ err: error }, 'message files could not be swept')
    }
  }

  async #close(): Promise<void> {
    clearInterval(this.#sweeping)
    await Promise.resolve()
    await Promise.allSettled(this.#unfinished)
    this.#bodies.close?.()
    // Close the reader first, because a checkpoint can't empty the log while another connection reads from it.
    await this.#reader.close()
    await this.#writer.close()
  }
}

/** Converts an email to the writer's form. */
function toStored(
  bodies: LargeMessageStore,
  { message, ...email }: NewEmail,
): StoredEmail & { body: Uint8Array<ArrayBuffer> | null } {
  return { ...email, body: copyForRow(bodies, message), size: message.byteLength }
}
