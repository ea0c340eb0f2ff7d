/**
 * Storage for messages that are too large for a row: the interface, and its implementation with files in the data
 * directory.
 */
import { link, mkdir, open, readdir, readFile, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isId } from '../mail/ids.ts'
import type { Logger } from '../watch/log.ts'
import { transferOwnership, MESSAGES_FOLDER, syncDirectory } from './sqlite/directory.ts'

/**
 * Storage for messages that are too large for a row. Rows mark such messages. Bytes are written before their row and
 * removed after it, so a crash can leave only bytes without a row, which the sweep removes.
 */
export interface LargeMessageStore {
  /** Maximum size of a message in a row, in bytes. Larger messages are stored here. */
  readonly largestRow: number
  /** Prepares the storage. Called once, before anything else. */
  begin(): Promise<void>
  /** Resolves once the bytes are durable. If the email already has bytes, rejects and changes nothing. */
  put(emailId: string, bytes: Uint8Array): Promise<void>
  /** Reads the bytes of an email. If they are missing, rejects with a message for the operator. */
  read(emailId: string): Promise<Uint8Array>
  /** Removes the bytes of an email, if there are any. */
  remove(emailId: string): Promise<void>
  /**
   * Removes bytes that no row refers to. Bytes younger than an hour are kept, because their row may not be written yet.
   * @param existing returns those of the given emails whose rows refer to bytes in this storage
   * @param stop checked between steps
   * @returns number of messages removed
   */
  sweep(existing: (ids: string[]) => Promise<string[]>, stop: () => boolean): Promise<number>
  /** Writes, reads and deletes a message on the server that stores them. Only for stores on a server. */
  readonly probe?: (() => Promise<BodyStoreStatus>) | undefined
  /** Closes connections. */
  close?(): void
}

/** The server that stores large messages, for operators. */
export interface BodyStoreStatus {
  bucket: string
  endpoint: string
  /** Time in milliseconds that it took to write, read and delete a message. */
  respondedIn: number
}

/** The bytes of a message are missing. The message says where they should be. */
export class MissingMessage extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'MissingMessage'
  }
}

/**
 * Waits for the bytes of a message. Resolves with `missing` if they are missing, and logs where they should be, which teams
 * must not see. Rejects with any other error.
 * @param about log fields that identify the message
 */
export async function readOrMissing<T>(
  reading: Promise<T>,
  log: Pick<Logger, 'error'>,
  about: Record<string, string>,
): Promise<T | 'missing'> {
  try {
    return await reading
  } catch (error) {
    if (!(error instanceof MissingMessage)) throw error
    log.error({ ...about, err: error }, 'the content of an email is missing')
    return 'missing'
  }
}

/** All messages are rows, because PostgreSQL itself stores large values separately. */
export const noBodies: LargeMessageStore = {
  largestRow: Infinity,
  begin: async () => undefined,
  put: () => Promise.reject(new Error('Messages are rows in this database.')),
  read: () => Promise.reject(new MissingMessage('The message of this email is missing in the database.')),
  remove: async () => undefined,
  sweep: async () => 0,
}

/**
 * Maximum size of a message in a row, in bytes. Larger messages are files, because SQLite would write them twice, to
 * the log and to the table, and has only one writer.
 */
const LARGEST_ROW = 256 * 1024

/**
 * Age at which a file without a row is removed, in milliseconds. A file is written before its row, so it may be older
 * by the length of one commit. One hour is a safe upper bound.
 */
const ORPHAN_MS = 60 * 60 * 1000

/** Number of names per query while sweeping. */
const SWEEP_ROUND = 500

/**
 * Returns the path of a large message: `messages/<xx>/<email id>`, where `xx` is the last two digits of the ID, which
 * are random. Throws for anything but an ID, because it becomes part of a path.
 */
export function messagePath(dataDir: string, emailId: string): string {
  if (!isId(emailId)) throw new RangeError('The id of an email must be a UUID.')
  return join(dataDir, MESSAGES_FOLDER, emailId.slice(-2), emailId)
}

/** Stores large messages as files in the data directory. */
export class MessageFiles implements LargeMessageStore {
  readonly largestRow = LARGEST_ROW
  readonly #root: string
  readonly #dataDir: string
  /** Directories that are known to be durable, by name. */
  readonly #ready = new Map<string, Promise<void>>()
  #temporary = 0

  constructor(dataDir: string) {
    this.#dataDir = dataDir
    this.#root = join(dataDir, MESSAGES_FOLDER)
  }

  /**
   * Creates the directory. From then on, it indicates that the data directory has a database (sqlite/connection.ts).
   */
  async begin(): Promise<void> {
    await mkdir(this.#root, { recursive: true, mode: 0o700 })
    await transferOwnership(this.#dataDir, this.#root)
  }

  /** Resolves when both the bytes and the file name are on disk. */
  async put(emailId: string, bytes: Uint8Array): Promise<void> {
    const { directory, path } = this.#place(emailId)
    await this.#prepare(directory)
    const temporary = `${path}.${process.pid}.${++this.#temporary}.tmp`
    try {
      const file = await open(temporary, 'wx', 0o600)
      try {
        await file.writeFile(bytes)
        await file.sync()
      } finally {
        await file.close()
      }
      await transferOwnership(this.#dataDir, temporary)
      // A link fails if the name exists. A rename would silently replace another email's message.
      await link(temporary, path)
    } finally {
      await rm(temporary, { force: true })
    }
    await syncDirectory(directory)
  }

  async read(emailId: string): Promise<Uint8Array> {
    const { path } = this.#place(emailId)
    try {
      return await readFile(path)
    } catch (error) {
      const text = `The message of email ${emailId} should be in ${path}: ${(error as Error).message}. Restore the file from a backup.`
      const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
      throw new (isMissing ? MissingMessage : Error)(text, { cause: error })
    }
  }

  async remove(emailId: string): Promise<void> {
    await rm(this.#place(emailId).path, { force: true })
  }

  /**
   * Removes files without a row and temporary files that a crash left behind, if they are older than an hour. Their age
   * is measured with the machine's clock, which the file system uses.
   */
  async sweep(existing: (ids: string[]) => Promise<string[]>, stop: () => boolean): Promise<number> {
    let removed = 0
    for (const name of await names(this.#root)) {
      if (stop()) break
      const directory = join(this.#root, name)
      const files = await names(directory)
      for (let at = 0; at < files.length && !stop(); at += SWEEP_ROUND) {
        const old = await olderThan(directory, files.slice(at, at + SWEEP_ROUND), Date.now() - ORPHAN_MS)
        const kept = new Set(await existing(old.filter(isId)))
        const orphans = old.filter((file) => !kept.has(file) && (isId(file) || file.endsWith('.tmp')))
        for (const file of orphans) await rm(join(directory, file), { force: true })
        removed += orphans.length
      }
    }
    return removed
  }

  /** Returns the path for the message of an email. */
  #place(emailId: string): { directory: string; path: string } {
    const path = messagePath(this.#dataDir, emailId)
    return { directory: dirname(path), path }
  }

  /**
   * Creates and syncs a directory, once per process. An existing directory may not be durable, because the process that
   * created it may have crashed before the sync.
   */
  #prepare(directory: string): Promise<void> {
    const known = this.#ready.get(directory)
    if (known) return known
    const ready = this.#make(directory)
    this.#ready.set(directory, ready)
    ready.catch(() => this.#ready.delete(directory))
    return ready
  }

  async #make(directory: string): Promise<void> {
    await mkdir(directory, { recursive: true, mode: 0o700 })
    await transferOwnership(this.#dataDir, this.#root)
    await transferOwnership(this.#dataDir, directory)
    await syncDirectory(this.#root)
    await syncDirectory(this.#dataDir)
  }
}

async function names(directory: string): Promise<string[]> {
  try {
    return await readdir(directory)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // There are no large messages yet, or there is a stray file among the directories.
    if (code === 'ENOENT' || code === 'ENOTDIR') return []
    throw error
  }
}

async function olderThan(directory: string, files: string[], time: number): Promise<string[]> {
  const old: string[] = []
  for (const file of files) {
    const found = await stat(join(directory, file)).catch((error: NodeJS.ErrnoException) => {
      // The file was removed after it was listed: a temporary file that was linked to its final name.
      if (error.code === 'ENOENT') return undefined
      throw error
    })
    if (found && found.mtimeMs < time) old.push(file)
  }
  return old
}
