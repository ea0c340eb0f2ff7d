/** `posthaste backup`: writes all data of the server to one file while the server runs. */
import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { type FileHandle, link, mkdir, open, readdir, readFile, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { type Connection, openReader } from '../sqlite/connection.ts'
import { DATABASE_FILE, MESSAGES_FOLDER, syncDirectory } from '../sqlite/directory.ts'
import { toFailure, StorageRefused } from '../engine/failures.ts'
import { getSealing } from '../sealing.ts'
import {
  createEncryption,
  type Encryption,
  type PipelineStep,
  tarEnd,
  tarHeader,
  tarPadding,
} from './archive.ts'
import {
  type BackupResult,
  copyDatabase,
  countBackupContents,
  deleteBodies,
  deleteMessage,
  listEmailsInFiles,
  FORMAT_VERSION,
  hasMessage,
  KEY_NAME,
  type Manifest,
  MANIFEST_NAME,
  MARKER_NAME,
  openCopy,
  getSchemaVersion,
} from './copy.ts'
import { verifyBackup } from './restore.ts'

export interface BackupOptions {
  dataDir: string
  /** The file to create, which must not exist. */
  file: string
  /** Whether to include bodies and messages of final emails. Those of queued emails are always included. */
  bodies: boolean
  /** Whether messages may also be in a bucket, which the backup doesn't include. */
  hasBucket?: boolean | undefined
  /** Whether to restore the backup into a scratch directory and check it. */
  verify: boolean
  /** The configuration and the files that it names, to include in the backup. */
  configuration: { name: `config/${string}`; bytes: Buffer }[]
  /** Version of the program that creates the backup. */
  version: string
  /**
   * Returns the content of the master key file with this ID, to include it in the backup; undefined if it must not be
   * included or is stored elsewhere.
   */
  masterKey?: ((id: string) => Buffer | undefined) | undefined
  /** Who can decrypt the backup; undefined if it isn't encrypted. */
  encryption?: Encryption | undefined
}

/**
 * Creates a backup: a consistent copy of the database, the messages in files, the server's own certificate and the
 * configuration, in one compressed archive with mode 0600. The file gets its name only when it is complete and, if
 * requested, verified. For an encrypted backup, no unencrypted files are written next to it, because it may be on
 * another disk.
 * @throws StorageRefused with the reason; nothing is left behind
 */
export async function createBackupArchive(options: BackupOptions, now: number): Promise<BackupResult> {
  const { file, dataDir } = options
  const beside = `${file}.partial-${process.pid}`
  const encryption = options.encryption && (await createEncryption(options.encryption))
  const scratch = encryption ? join(dataDir, `backup.partial-${process.pid}`) : beside
  const places = { scratch, archive: join(beside, 'archive') }
  try {
    if (await exists(file)) throw new StorageRefused(`${file} already exists. Choose another file name.`)
    if (!(await exists(join(dataDir, DATABASE_FILE))))
      throw new StorageRefused(`There is no database in ${dataDir}: nothing to back up.`)
    if (!(await exists(dirname(file))))
      throw new StorageRefused(`There is no directory ${dirname(file)}. Create it or choose another.`)
    await clearLeftovers(file)
    await clearLeftovers(join(dataDir, 'backup'))
    for (const directory of new Set([beside, scratch])) await mkdir(directory, { mode: 0o700 })
    const manifest = await makeArchive(options, places, encryption?.encrypt, now)
    if (options.verify) await verifyBackup(places.archive, join(scratch, 'restored'), encryption?.check)
    const { size } = await stat(places.archive)
    // A link fails if the name exists. A rename would replace a file that was created in the meantime.
    await link(places.archive, file)
    await syncDirectory(dirname(file))
    const { format: _format, files: _files, ...about } = manifest
    return { about, size, verified: options.verify }
  } catch (error) {
    if (error instanceof StorageRefused) throw error
    throw new StorageRefused(`The backup was not made. ${toFailure(error).message}`)
  } finally {
    for (const directory of [beside, scratch]) await rm(directory, { recursive: true, force: true })
  }
}

/** Removes leftovers of interrupted backups to the same file. */
async function clearLeftovers(file: string): Promise<void> {
  const begin = `${basename(file)}.partial-`
  for (const name of await readdir(dirname(file))) {
    const pid = name.startsWith(begin) ? Number(name.slice(begin.length)) : NaN
    if (Number.isInteger(pid) && pid > 0 && !isRunning(pid))
      await rm(join(dirname(file), name), { recursive: true, force: true })
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // EPERM means that the process runs as another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}

async function makeArchive(
  options: BackupOptions,
  { scratch, archive }: { scratch: string; archive: string },
  encrypt: PipelineStep | undefined,
  now: number,
): Promise<Manifest> {
  const { dataDir, bodies, version } = options
  const copy = join(scratch, DATABASE_FILE)
  copyDatabase(join(dataDir, DATABASE_FILE), copy)
  const db = openCopy(copy)
  try {
    if (!bodies) deleteBodies(db)
    const schema = getSchemaVersion(db)
    const sealing = getSealing(db)
    const key = sealing && options.masterKey?.(sealing.keyId)
    const manifest: Manifest = {
      format: FORMAT_VERSION,
      version,
      createdAt: now,
      schema,
      bodies,
      counts: countBackupContents(db),
      files: [],
      masterKey: sealing ? { id: sealing.keyId, included: key !== undefined } : null,
    }
    const source = Readable.from(archiveOf({ ...options, key }, db, manifest), { objectMode: false })
    const target = createWriteStream(archive, { mode: 0o600, flags: 'wx', flush: true })
    if (encrypt) await pipeline(source, createGzip(), encrypt, target)
    else await pipeline(source, createGzip(), target)
    return manifest
  } finally {
    db.close()
  }
}

/**
 * Yields the bytes of the archive. The database comes after the messages, so that it doesn't refer to messages that
 * retention deleted in the meantime.
 */
async function* archiveOf(
  { dataDir, configuration, key, hasBucket = false }: BackupOptions & { key: Buffer | undefined },
  db: Connection,
  manifest: Manifest,
): AsyncGenerator<Buffer> {
  const at = manifest.createdAt
  yield* plain(MARKER_NAME, json({ format: FORMAT_VERSION, version: manifest.version }), at)
  const ownKey = key ? [{ name: KEY_NAME, bytes: key }] : []
  for (const { name, bytes } of [...(await ownCertificate(dataDir)), ...ownKey, ...configuration]) {
    yield* plain(name, bytes, at)
    manifest.files.push({
      name,
      size: bytes.length,
      sha256: createHash('sha256').update(bytes).digest('hex'),
    })
  }
  for (const id of listEmailsInFiles(db)) {
    const name = `${MESSAGES_FOLDER}/${id.slice(-2)}/${id}`
    const found = await openMessage(join(dataDir, name), id, { dataDir, hasBucket })
    if (found === 'in-bucket') continue
    if (found) yield* streamed(name, found, manifest)
    else deleteMessage(db, id)
  }
  manifest.counts = countBackupContents(db)
  yield* streamed(DATABASE_FILE, await open(db.name, 'r'), manifest)
  yield* plain(MANIFEST_NAME, json(manifest), at)
  yield tarEnd()
}

const json = (value: object): Buffer => Buffer.from(`${JSON.stringify(value)}\n`)

function* plain(name: string, bytes: Buffer, at: number): Generator<Buffer> {
  yield tarHeader({ name, size: bytes.length }, at)
  yield bytes
  yield tarPadding(bytes.length)
}

/** Yields a file's bytes and adds the file to the manifest. Closes the file. */
async function* streamed(name: string, file: FileHandle, manifest: Manifest): AsyncGenerator<Buffer> {
  const hash = createHash('sha256')
  const { size } = await file.stat()
  yield tarHeader({ name, size }, manifest.createdAt)
  let read = 0
  // `end` limits the stream to the size in the header, even if the file grows.
  const stream = size === 0 ? [] : file.createReadStream({ end: size - 1, highWaterMark: 256 * 1024 })
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    hash.update(chunk)
    read += chunk.length
    yield chunk
  }
  await file.close()
  if (read !== size) throw new StorageRefused(`${name} became shorter while it was being read.`)
  yield tarPadding(size)
  manifest.files.push({ name, size, sha256: hash.digest('hex') })
}

/** Opens the file of a message; undefined if retention deleted it after the database was copied. */
async function openMessage(
  path: string,
  emailId: string,
  { dataDir, hasBucket }: { dataDir: string; hasBucket: boolean },
): Promise<FileHandle | 'in-bucket' | undefined> {
  try {
    return await open(path, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  const live = openReader(join(dataDir, DATABASE_FILE))
  try {
    if (!hasMessage(live, emailId)) return undefined
  } finally {
    live.close()
  }
  if (hasBucket) return 'in-bucket'
  throw new StorageRefused(
    `The message of email ${emailId} should be in ${path}, but that file is missing. Restore the file from an older backup, or drop the email.`,
  )
}

/** Returns the certificate that the server generated for itself, if there is one. */
async function ownCertificate(dataDir: string): Promise<{ name: string; bytes: Buffer }[]> {
  const name = 'tls/self-signed.json'
  try {
    return [{ name, bytes: await readFile(join(dataDir, name)) }]
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
