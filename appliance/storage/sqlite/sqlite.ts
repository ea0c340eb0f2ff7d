import type { reads, writes } from '../methods/methods.ts'
import type { NewEmail, Storage } from '../storage.ts'
import { DATABASE, makeDirectory, makePrivateFile } from './directory.ts'
import { StorageFailure, type StorageLost } from './failures.ts'
import { LARGEST_ROW, MessageFiles } from './message-files.ts'
import type { PutArgs } from './put.ts'
import { Thread } from './thread.ts'

export { StorageFailure, StorageLost, StorageRefused } from './failures.ts'
export { lockDataDir, type DataDirLock } from './lock.ts'

/** The little that the storage has to say for itself; every logger of the program can do it. */
export interface StorageLog {
  info(fields: object, message: string): void
  error(fields: object, message: string): void
}

export interface SqliteOptions {
  dataDir: string
  logger?: StorageLog | undefined
  /** Told once when a storage thread died: no call works from then on, so the daemon should end and be restarted. */
  onLost?: ((error: StorageLost) => void) | undefined
}

/** The storage on SQLite, with what only this engine has. */
export interface SqliteStorage extends Storage {
  /** Write calls answered so far, and the commits that they took together. */
  stats(): { commits: number; calls: number }
}

/**
 * Opens the database of a data directory, making both when they are missing, and brings its schema up to date.
 * The event loop never waits for the disk: one thread writes, another reads.
 * @throws StorageRefused when the database is damaged, foreign, newer than the program or not accessible; it is never replaced
 */
export async function openSqlite(options: SqliteOptions): Promise<SqliteStorage> {
  const { dataDir } = options
  await makeDirectory(dataDir)
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
    })
  const writer = await start('writer')
  try {
    const reader = await start('reader')
    return new Assembly(writer, reader, new MessageFiles(dataDir), options.logger).storage
  } catch (error) {
    await writer.close()
    throw error
  }
}

/** The two threads and the files, put together as the port. */
class Assembly {
  readonly storage: SqliteStorage
  readonly #writer: Thread
  readonly #reader: Thread
  readonly #files: MessageFiles
  readonly #unfinished = new Set<Promise<unknown>>()
  #closed: Promise<void> | undefined

  constructor(writer: Thread, reader: Thread, files: MessageFiles, logger: StorageLog | undefined) {
    this.#writer = writer
    this.#reader = reader
    this.#files = files
    this.storage = this.#port()
    void this.#track(this.#sweep(logger))
  }

  #port(): SqliteStorage {
    const read = <M extends keyof typeof reads>(method: M) =>
      ((args: unknown, now: number) => this.#call(this.#reader, method, args, now)) as Storage[M]
    const write = <M extends keyof typeof writes | 'lease' | 'settle'>(method: M) =>
      ((args: unknown, now: number) => this.#call(this.#writer, method, args, now)) as Storage[M]
    return {
      createOwner: write('createOwner'),
      setPassword: write('setPassword'),
      findUser: read('findUser'),
      firstTeam: read('firstTeam'),
      createSession: write('createSession'),
      findSession: read('findSession'),
      deleteSession: write('deleteSession'),
      purgeSessions: write('purgeSessions'),
      createApiKey: write('createApiKey'),
      findApiKey: read('findApiKey'),
      listApiKeys: read('listApiKeys'),
      deleteApiKey: write('deleteApiKey'),
      touchApiKeys: write('touchApiKeys'),
      createDomain: write('createDomain'),
      listDomains: read('listDomains'),
      getDomain: read('getDomain'),
      findDomain: read('findDomain'),
      deleteDomain: write('deleteDomain'),
      saveDomainCheck: write('saveDomainCheck'),
      dkimKeys: read('dkimKeys'),
      put: (email, now) => this.#open(() => this.#put(email, now)),
      listEmails: read('listEmails'),
      getEmail: read('getEmail'),
      getHistory: read('getHistory'),
      getMessage: (args, now) => this.#open(() => this.#message(args, now)),
      lease: write('lease'),
      settle: write('settle'),
      unlease: write('unlease'),
      voidLeases: write('voidLeases'),
      nextDue: read('nextDue'),
      queueSummary: read('queueSummary'),
      listQueue: read('listQueue'),
      holdQueue: write('holdQueue'),
      releaseQueue: write('releaseQueue'),
      retryQueue: write('retryQueue'),
      dropQueue: write('dropQueue'),
      stats: () => ({ commits: this.#writer.commits, calls: this.#writer.calls }),
      close: () => (this.#closed ??= this.#close()),
    }
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

  async #put({ message, ...email }: NewEmail, now: number): Promise<void> {
    const size = message.byteLength
    if (size <= LARGEST_ROW) {
      // One copy that the thread can have for itself; the clone would take the whole buffer behind a view.
      const body = new Uint8Array(message)
      const args: PutArgs = { ...email, body, size }
      return this.#writer.call('put', args, now, [body.buffer])
    }
    await this.#files.write(email.id, message)
    const args: PutArgs = { ...email, body: null, size }
    try {
      await this.#writer.call('put', args, now)
    } catch (error) {
      // Where the row may have become durable the file stays; the sweep will know.
      if (error instanceof StorageFailure && !error.ambiguous) await this.#files.remove(email.id)
      throw error
    }
  }

  async #message(args: { emailId: string }, now: number): Promise<Uint8Array | undefined> {
    const body = await this.#reader.call<Uint8Array | null | undefined>('messageBody', args, now)
    return body === null ? this.#files.read(args.emailId) : body
  }

  /** Housekeeping that nobody waits for: its failure is told, and harms nothing. */
  async #sweep(logger: StorageLog | undefined): Promise<void> {
    try {
      const existing = (ids: string[]) => this.#reader.call<string[]>('existingEmails', { ids }, 0)
      const removed = await this.#files.sweep(existing, () => this.#closed !== undefined)
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
