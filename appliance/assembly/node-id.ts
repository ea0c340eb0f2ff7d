/** The ID of this node, which is used in leases, duties and sending IPs. */
import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import type { Storage } from '../storage/storage.ts'
import { transferOwnership, makeDirectory } from '../storage/sqlite/sqlite.ts'
import { StartupError } from '../wire/listeners.ts'

/**
 * Name of the file in the data directory. Several nodes share a PostgreSQL database, so the ID can't be stored there,
 * unlike with SQLite.
 */
const FILE = 'node-id'

const SHAPE = /^[0-9a-f]{16}$/

/** Returns the id of this node. */
export async function getNodeId(
  config: Config,
  storage: Pick<Storage, 'thisNode'>,
  now: number,
): Promise<string> {
  return config.storage.engine === 'postgres' ? loadOrCreateNodeId(config) : storage.thisNode({}, now)
}

/**
 * Returns the id in the data directory; creates it if there is none.
 * @throws StartupError if the file can't be read or written
 */
export async function loadOrCreateNodeId({ data_dir: dataDir }: Pick<Config, 'data_dir'>): Promise<string> {
  const file = join(dataDir, FILE)
  try {
    await makeDirectory(dataDir)
    await writeFile(file, `${randomBytes(8).toString('hex')}\n`, { flag: 'wx', mode: 0o600 })
    await transferOwnership(dataDir, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST')
      throw new StartupError(`Cannot create ${file}: ${(error as Error).message}.`, { cause: error })
  }
  const id = await readFile(file, 'utf8').then(
    (text) => text.trim(),
    (error: unknown) => {
      throw new StartupError(`Cannot read ${file}: ${(error as Error).message}.`, { cause: error })
    },
  )
  if (!SHAPE.test(id))
    throw new StartupError(
      `${file} must contain 16 hexadecimal digits. Restore it from a backup. If you delete it, this node gets a new ID.`,
    )
  return id
}
