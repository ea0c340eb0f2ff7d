/** The data directory: its contents, its permissions, and the lock for the one daemon that uses it. */
import Database from 'better-sqlite3'
import { chmod, chown, mkdir, open, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pack, StorageRefused } from '../engine/failures.ts'

/** Names inside the data directory. */
export const DATABASE = 'posthaste.db'

export const MESSAGES = 'messages'

export const LOCK = 'daemon.lock'

export const LOCK_HOLDER = 'daemon.pid'

/** Where a restore unpacks. While it exists, a restore is running or was interrupted. */
export const RESTORING = 'restoring'

/** Copies of the database from before migrations. */
export const SNAPSHOTS = 'snapshots'

/**
 * Creates the data directory if it is missing, readable only by its owner. An existing one keeps its mode: it may be
 * shared on purpose, or be a wrong setting such as /var, and the files in it are private anyway.
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
 * Creates a directory with its parents. Node's `recursive` never returns where the kernel creates no directories, such
 * as /proc.
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

/** Returns advice about a file that can't be written: `usual` unless the error needs different advice. */
function adviceFor(error: unknown, usual: string): string {
  if ((error as NodeJS.ErrnoException).code !== 'EROFS') return usual
  return 'The file system is read-only. Find the reason in the kernel log, then remount it writable.'
}

/**
 * Creates an empty file of mode 0600 if there is none. Never opens an existing one: closing any descriptor of a file
 * drops SQLite's locks on it in this process (POSIX advisory locks).
 */
export async function makePrivateFile(directory: string, name: string): Promise<string> {
  const path = join(directory, name)
  try {
    if (await makeNew(path)) await giveToOwnerOf(directory, path)
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

/** Gives what root creates (`sudo posthaste setup`) to the owner of the directory, so that the service can use it. */
export async function giveToOwnerOf(directory: string, path: string): Promise<void> {
  if (process.geteuid?.() !== 0) return
  const { uid, gid } = await stat(directory)
  await chown(path, uid, gid)
}

/** Syncs a directory, which makes the names in it durable. */
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
 * it.
 * @throws StorageRefused naming the process that has it
 */
export async function lockDataDir(dataDir: string): Promise<DataDirLock> {
  await makeDirectory(dataDir)
  const file = await makePrivateFile(dataDir, LOCK)
  const holder = join(dataDir, LOCK_HOLDER)
  let db: Database.Database | undefined
  try {
    db = new Database(file, { fileMustExist: true, timeout: 0 })
    db.exec('begin exclusive')
  } catch (error) {
    db?.close()
    const { code, message } = pack(error)
    if (code !== 'SQLITE_BUSY') throw new StorageRefused(`Cannot lock ${file}. ${message}`)
    throw new StorageRefused(
      `Another daemon is running on ${dataDir} (process ${await holderOf(holder)}). Stop it first, or give this one its own data_dir.`,
    )
  }
  const lock = db
  try {
    await writeFile(holder, `${process.pid}\n`, { mode: 0o600 })
    await giveToOwnerOf(dataDir, holder)
  } catch (error) {
    lock.close()
    const advice = adviceFor(error, `Check who owns ${dataDir}.`)
    throw new StorageRefused(`Cannot write ${holder}: ${(error as Error).message}. ${advice}`)
  }
  return { release: () => void lock.close() }
}

/** Returns the process that holds the lock. Only for the error message, because the lock decides, not this file. */
async function holderOf(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim() || 'unknown'
  } catch {
    // The other process has not written it yet.
    return 'unknown'
  }
}
