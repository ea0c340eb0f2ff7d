/** The data directory: its contents, its permissions, and the lock for the one daemon that uses it. */
import Database from 'better-sqlite3'
import { chmod, chown, mkdir, open, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { toFailure, StorageRefused } from '../engine/failures.ts'

/** Names inside the data directory. */
export const DATABASE_FILE = 'posthaste.db'

export const MESSAGES_FOLDER = 'messages'

export const LOCK_FILE = 'daemon.lock'

export const PID_FILE = 'daemon.pid'

/** Folder where a restore unpacks the backup. If it exists, a restore is running or was interrupted. */
export const RESTORE_FOLDER = 'restoring'

/** Folder with copies of the database from before migrations. */
export const SNAPSHOTS_FOLDER = 'snapshots'

/**
 * Creates the data directory if it is missing, readable only by its owner. An existing directory keeps its mode: it may
 * be shared on purpose, or the setting may be wrong, such as /var. The files in it are private anyway.
 */
export async function makeDirectory(path: string): Promise<void> {
  try {
    await makeAll(path)
  } catch (error) {
    const what = `Cannot create the data directory ${path}: ${(error as Error).message}.`
    throw new StorageRefused(`${what} ${adviceFor(error, 'Create it, owned by the service user.')}`)
  }
}

/**
 * Creates a directory and its parents. Doesn't use Node's `recursive`, which never returns where the kernel can't
 * create directories, such as in /proc.
 */
async function makeAll(path: string): Promise<void> {
  const make = (): Promise<void> => mkdir(path, { mode: 0o700 })
  try {
    await make().catch(async (error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      await makeAll(dirname(path))
      await make()
    })
  } catch (error) {
    const isThere = (error as NodeJS.ErrnoException).code === 'EEXIST' && (await stat(path)).isDirectory()
    if (!isThere) throw error
  }
}

/** Returns advice about a file that can't be written: `usual`, unless the error needs other advice. */
function adviceFor(error: unknown, usual: string): string {
  if ((error as NodeJS.ErrnoException).code !== 'EROFS') return usual
  return 'The file system is read-only. Find the reason in the kernel log, then remount it writable.'
}

/**
 * Creates an empty file with mode 0600 if it doesn't exist. Never opens an existing file, because closing any
 * descriptor of a file drops SQLite's locks on it in this process (POSIX advisory locks).
 */
export async function makePrivateFile(directory: string, name: string): Promise<string> {
  const path = join(directory, name)
  try {
    if (await makeNew(path)) await transferOwnership(directory, path)
    else await closeToOthers(path)
  } catch (error) {
    const advice = adviceFor(error, `Check who owns ${directory}.`)
    throw new StorageRefused(`Cannot create ${path}: ${(error as Error).message}. ${advice}`)
  }
  return path
}

async function makeNew(path: string): Promise<boolean> {
  try {
    const file = await open(path, 'wx', 0o600)
    await file.close()
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

async function closeToOthers(path: string): Promise<void> {
  const { mode, uid } = await stat(path)
  const user = process.geteuid?.()
  if ((mode & 0o077) !== 0 && (user === uid || user === 0)) await chmod(path, 0o600)
}

/**
 * Changes the owner of a file that root created (`sudo posthaste setup`) to the owner of the directory, so that the
 * service can use it.
 */
export async function transferOwnership(directory: string, path: string): Promise<void> {
  if (process.geteuid?.() !== 0) return
  const { uid, gid } = await stat(directory)
  await chown(path, uid, gid)
}

/** Syncs a directory, so that the names in it are durable. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}

/** The lock that makes a process the daemon of a data directory. */
export interface DataDirLock {
  /** Releases the lock. The kernel also releases it when the process ends. */
  release(): void
}

/**
 * Locks a data directory for this daemon. The lock is an exclusive transaction on a separate file. The kernel releases
 * it with the process, so a killed daemon leaves nothing to clean up. Commands that only open the storage don't take
 * the lock.
 * @throws StorageRefused naming the process that holds the lock
 */
export async function lockDataDir(dataDir: string): Promise<DataDirLock> {
  await makeDirectory(dataDir)
  const file = await makePrivateFile(dataDir, LOCK_FILE)
  const holder = join(dataDir, PID_FILE)
  let db: Database.Database | undefined
  try {
    db = new Database(file, { fileMustExist: true, timeout: 0 })
    db.exec('begin exclusive')
  } catch (error) {
    db?.close()
    const { code, message } = toFailure(error)
    if (code !== 'SQLITE_BUSY') throw new StorageRefused(`Cannot lock ${file}. ${message}`)
    throw new StorageRefused(
      `Another daemon is running on ${dataDir} (process ${await holderOf(holder)}). Stop it first, or give this one its own data_dir.`,
    )
  }
  const lock = db
  try {
    await writeFile(holder, `${process.pid}\n`, { mode: 0o600 })
    await transferOwnership(dataDir, holder)
  } catch (error) {
    lock.close()
    const advice = adviceFor(error, `Check who owns ${dataDir}.`)
    throw new StorageRefused(`Cannot write ${holder}: ${(error as Error).message}. ${advice}`)
  }
  return { release: () => void lock.close() }
}

/**
 * Returns the process that holds the lock. Used only for the error message, because the lock itself decides, not this
 * file.
 */
async function holderOf(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim() || 'unknown'
  } catch {
    // The other process hasn't written its ID yet.
    return 'unknown'
  }
}
