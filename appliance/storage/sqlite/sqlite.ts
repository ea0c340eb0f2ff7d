import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { crashPoint } from '../../watch/crash-points.ts'
import { type Bodies, MessageFiles } from '../bodies.ts'
import type { PurgedRows } from '../retention.ts'
import type {
  NewEmail,
  PurgeArgs,
  Purged,
  PutArgs,
  PutResult,
  ReadMethods,
  ReportRef,
  Storage,
  WriteMethods,
} from '../storage.ts'
import { DATABASE, makeDirectory, makePrivateFile, RESTORING } from './directory.ts'
import { type StorageLost, StorageRefused } from './failures.ts'
import { inRow, storeLarge } from './large-messages.ts'
import { createReceivedFiles } from './received-files.ts'
import { refuseVanished } from './connection.ts'
import type { StoreArgs, StoredEmail, StoreReportArgs } from '../spool/put.ts'
import { Thread } from './thread.ts'

export { StorageLost, StorageRefused } from './failures.ts'
export { lockDataDir } from './directory.ts'
export { backUp } from '../backup/backup.ts'
export { appendEntry } from '../backup/copy.ts'
export { restore } from '../backup/restore.ts'
export type { Decryption, Encryption } from '../backup/archive.ts'
export { newestSchema } from './migrate.ts'
export { sqliteSealing } from './sealing.ts'
export { listSnapshots } from './migrate.ts'

/** The little that the storage has to say for itself; every logger of the program can do it. */
export interface StorageLog {
  info(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** Whether there is a database; opening the storage would make one. */
export function hasDatabase(dataDir: string): boolean {
  try {
    const [directory, file] = [dataDir, join(dataDir, DATABASE)].map((path) =>
      statSync(path, { throwIfNoEntry: false }),
    )
    // In the place of the directory is something else: opening it says what is wrong, too.
    return file !== undefined || (directory !== undefined && !directory.isDirectory())
  } catch {
    return true // There is something that cannot be looked at: opening it says what is wrong.
  }
}

export interface SqliteOptions {
  dataDir: string
  logger?: StorageLog | undefined
  /** Told once when a storage thread died: no call works from then on, so the daemon should end and be restarted. */
  onLost?: ((error: StorageLost) => void) | undefined
  /** Told after each commit that stored events. */
  onEvents?: (() => void) | undefined
  /** Where large messages are kept; by default, files of the data directory, which backups know. */
  bodies?: Bodies | undefined
}

/** The storage on SQLite, with what only this engine has. */
export interface SqliteStorage extends Storage {
  /** Write calls answered so far, and the commits that they took together. */
  stats(): { commits: number; calls: number }
  /** Names of the methods of a noun (nouns.ts) that write. */
  writesOf(noun: string): string[]
}

/**
 * Opens the database of a data directory, making both when they are missing, and brings its schema up to date.
 * The event loop never waits for the disk: one thread writes, another reads.
 * @throws StorageRefused when the database is damaged, foreign, newer than the program or not accessible; it is never replaced
 */
export async function openSqlite(options: SqliteOptions): Promise<SqliteStorage> {
  const { dataDir } = options
  await makeDirectory(dataDir)
  if (existsSync(join(dataDir, RESTORING)))
    throw new StorageRefused(
      `A restore into ${dataDir} is still running or was interrupted. Wait for it to finish, or run posthaste restore again.`,
    )
  refuseVanished(dataDir)
  const file = await makePrivateFile(dataDir, DATABASE)
  let told = false
  const onLost = (error: StorageLost): void => {
    if (told) return
    told = true
    options.logger?.error({ err: error }, 'storage thread died')
    options.onLost?.(error)
  }
  const start = (name: 'writer' | 'reader') =>
    Thread.start({
      name: `storage ${name}`,
      script: new URL(`./${name}.ts`, import.meta.url),
      data: { file },
      onLost,
      onEvents: options.onEvents,
    })
  const writer = await start('writer')
  try {
    const reader = await start('reader')
    const bodies = options.bodies ?? new MessageFiles(dataDir)
    await bodies.begin()
    return new Assembly(writer, reader, bodies, options.logger).storage
  } catch (error) {
    await writer.close()
    throw error
  }
}

/** The two threads and the large messages, put together as the port. */
class Assembly {
  readonly storage: SqliteStorage
  readonly #writer: Thread
  readonly #reader: Thread
  readonly #bodies: Bodies
  readonly #unfinished = new Set<Promise<unknown>>()
  #closed: Promise<void> | undefined

  constructor(writer: Thread, reader: Thread, bodies: Bodies, logger: StorageLog | undefined) {
    this.#writer = writer
    this.#reader = reader
    this.#bodies = bodies
    this.storage = this.#port()
    void this.#track(this.#sweep(logger))
  }

  #port(): SqliteStorage {
    const received = createReceivedFiles({
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
      stats: () => ({ commits: this.#writer.commits, calls: this.#writer.calls }),
      close: () => (this.#closed ??= this.#close()),
    }
  }

  /** The types hold because they are made of the same lists that each thread runs. */
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

  /** Begins something unless the storage is closed; `close` waits for it. */
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

  #put({ emails, receipt, quota }: PutArgs, now: number): Promise<PutResult> {
    return this.#store(
      emails,
      (stored, bodies) => {
        const args: StoreArgs = { emails: stored, receipt, quota }
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
      const stored = emails.map(toStored)
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

  /** The rows first: a body whose row is gone is swept after a crash, a row whose body is gone would be missed. */
  async #purge(
    method: 'purgeBodies' | 'purgeUnkeptBodies' | 'purgeEmails',
    args: PurgeArgs,
    now: number,
  ): Promise<Purged> {
    const { files, ...purged } = await this.#writer.call<PurgedRows>(method, args, now)
    if (purged.count > 0) crashPoint('retention')
    for (const emailId of files) await this.#bodies.remove(emailId)
    return purged
  }

  /** Housekeeping that nobody waits for: its failure is told, and harms nothing. */
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
    await Promise.resolve()
    await Promise.allSettled(this.#unfinished)
    // The reader first: a checkpoint cannot empty the log while another connection reads from it.
    await this.#reader.close()
    await this.#writer.close()
  }
}

/** The email as the writer takes it. */
function toStored({ message, ...email }: NewEmail): StoredEmail & { body: Uint8Array<ArrayBuffer> | null } {
  return { ...email, body: inRow(message), size: message.byteLength }
}
