/** Creates the places for large messages from the configuration. */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import { type LargeMessageStore, MessageFiles, noBodies } from '../storage/bodies.ts'
import { MessageBucket } from '../storage/bucket/bucket.ts'
import { LayeredBodies } from '../storage/layered-bodies.ts'
import type { StorageLog } from '../storage/postgres/postgres.ts'
import { makeDirectory, transferOwnership } from '../storage/sqlite/sqlite.ts'
import { StartupError } from '../wire/listeners.ts'

/** Name of the file in the data directory with the ID that objects of this directory have. */
const WRITER_FILE = 'bucket-writer'
const WRITER = /^[0-9a-f]{16}$/

/**
 * Returns where large messages are stored: where new ones go, and then where earlier ones may be.
 * @param isServing whether a daemon opens the storage
 * @throws StartupError if a file that [s3] names can't be read
 */
export async function createBodies(
  config: Config,
  { isServing, logger }: { isServing: boolean; logger?: StorageLog | undefined },
): Promise<LargeMessageStore> {
  const { storage, s3, data_dir: dataDir } = config
  const local = storage.engine === 'postgres' ? noBodies : new MessageFiles(dataDir)
  const { endpoint, bucket, access_key_id: accessKeyId } = s3
  if (endpoint === undefined || bucket === undefined || accessKeyId === undefined) return local
  const isWritten = storage.bodies === 's3'
  const remote = new MessageBucket({
    endpoint: new URL(endpoint).origin,
    region: s3.region,
    bucket,
    prefix: s3.prefix,
    accessKeyId,
    secretAccessKey: readSecret(s3),
    pathStyle: s3.path_style,
    ca: s3.ca === undefined ? undefined : read('s3.ca', s3.ca),
    largestRow: s3.larger_than_kb * 1000,
    writer: await loadOrCreateWriter(dataDir),
    isWritten,
    isServing,
    onUnreachable: (err) =>
      logger?.error(
        { err },
        'the bucket for large messages does not respond; they are refused until it does',
      ),
  })
  return isWritten ? new LayeredBodies(remote, [local]) : new LayeredBodies(local, [remote])
}

function readSecret({ secret_access_key: secret, secret_access_key_file: file }: Config['s3']): string {
  const found = secret ?? read('s3.secret_access_key_file', file!).split(/\r?\n/, 1)[0]!
  const key = secret === undefined ? 'The first line of s3.secret_access_key_file' : 's3.secret_access_key'
  if (found === '') throw new StartupError(`${key} is empty.`)
  return found
}

function read(key: string, file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new StartupError(`${key} cannot be read: ${(error as Error).message}.`, { cause: error })
  }
}

/**
 * Returns the ID that objects written from the data directory have; creates it if there is none. It isn't in backups, so
 * that a restored copy never removes objects that the original has written since.
 * @throws StartupError if the file can't be read or written
 */
async function loadOrCreateWriter(dataDir: string): Promise<string> {
  const file = join(dataDir, WRITER_FILE)
  try {
    await makeDirectory(dataDir)
    await writeFile(file, `${randomBytes(8).toString('hex')}\n`, { flag: 'wx', mode: 0o600 })
    await transferOwnership(dataDir, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST')
      throw new StartupError(`Cannot create ${file}: ${(error as Error).message}.`, { cause: error })
  }
  const id = (
    await readFile(file, 'utf8').catch((error: Error) => {
      throw new StartupError(`Cannot read ${file}: ${error.message}.`, { cause: error })
    })
  ).trim()
  if (!WRITER.test(id))
    throw new StartupError(`${file} must contain 16 hexadecimal digits. Delete it to get a new ID.`)
  return id
}
