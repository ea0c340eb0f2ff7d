import Database from 'better-sqlite3'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { adviceFor, giveToOwnerOf, LOCK, LOCK_HOLDER, makeDirectory, makePrivateFile } from './directory.ts'
import { pack, StorageRefused } from './failures.ts'

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
