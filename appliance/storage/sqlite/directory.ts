/** The data directory: what lies in it, who may read it, and the one daemon that it belongs to. */
import Database from 'better-sqlite3'
import { chmod, chown, mkdir, open, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pack, StorageRefused } from './failures.ts'

/** Names inside the data directory. */
export const DATABASE = 'posthaste.db'

export const MESSAGES = 'messages'

export const LOCK = 'daemon.lock'

export const LOCK_HOLDER = 'daemon.pid'

/** Where a restore unpacks; while it is there, a restore goes on or was broken off. */
export const RESTORING = 'restoring'

/** Databases from before migrations. */
export const SNAPSHOTS = 'snapshots'

/**
 * Makes the data directory when it is missing, readable by its owner only. One that exists keeps its mode: it may be
 * shared on purpose, or be a wrong setting such as /var, and the files in it are closed anyway.
 */
export async function makeDirectory(path: string): Promise<void> {
  try {
    await makeAll(path)
  } catch (error) {
    const what = `Cannot create the data directory ${path}: ${(error as Error).message}.`
    throw new StorageRefused(`${what} ${adviceFor(error, 'Create it, owned by the service user.')}`)
  }
}

/** With its parents. Not by Node's `recursive`, which never ends where the kernel makes no directories, such as /proc. */
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

/** What to do about a file that cannot be written, unless it is the usual thing. */
function adviceFor(error: unknown, usual: string): string {
  if ((error as NodeJS.ErrnoException).code !== 'EROFS') return usual
  return 'The file system is read-only. Find the reason in the kernel log, then remount it writable.'
}

/**
 * Makes an empty file of mode 0600 when there is none. It is never opened when it exists: closing any descriptor of a
 * file drops the locks that SQLite holds on it in this process (POSIX advisory locks).
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

/** What root makes (`sudo posthaste setup`) must be usable by the service, whose directory it is. */
export async function giveToOwnerOf(directory: string, path: string): Promise<void> {
  if (process.geteuid?.() !== 0) return
  const { uid, gid } = await stat(directory)
  await chown(path, uid, gid)
}

/** Makes the names in a directory durable. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}

/** The right to be the daemon of a data directory. */
export interface DataDirLock {
  /** Gives it back; the end of the process does so too, however it comes. */
  release(): void
}

/**
 * Makes this process the one daemon of a data directory. The lock is an exclusive transaction on a file of its own:
 * the kernel ends it with the process, so a killed daemon leaves nothing to clean up. Commands that only open the
 * storage do not take it.
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

/** Only for the sentence: the lock decides, not this file. */
async function holderOf(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim() || 'unknown'
  } catch {
    // The other process has not written it yet.
    return 'unknown'
  }
}
