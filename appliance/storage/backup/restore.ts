/** `posthaste restore`: creates a data directory from a backup, completely or not at all, with the queue on hold. */
import { createHash, type Hash } from 'node:crypto'
import { createReadStream, statSync } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rename, rm, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import type { Actor } from '../../mail/audit.ts'
import {
  DATABASE_FILE,
  transferOwnership,
  LOCK_FILE,
  PID_FILE,
  lockDataDir,
  makeDirectory,
  RESTORE_FOLDER,
  syncDirectory,
} from '../sqlite/directory.ts'
import { toFailure, StorageRefused } from '../engine/failures.ts'
import { createDecryption, type Decryption, isEncrypted, readTar, type PipelineStep } from './archive.ts'
import {
  type ArchiveFile,
  checkMarker,
  countBackupContents,
  type HeldMail,
  holdRestoredQueue,
  type Manifest,
  MANIFEST_NAME,
  MARKER_NAME,
  openCopy,
  resolveBackupPath,
  type RestoreResult,
  findDatabaseProblems,
} from './copy.ts'

export interface RestoreOptions {
  /** The backup file. */
  file: string
  /** The target. Created if it is missing; otherwise it must be empty. */
  dataDir: string
  /** Who restores the backup, for the audit log of the restored server. */
  by: Actor
  /** The keys to an encrypted backup. */
  decryption?: Decryption | undefined
}

/**
 * Restores a backup into an empty directory: unpacks and checks it in a subfolder, holds the queue, then moves the
 * files into place, the database last. After an interruption, call it again. Until it finishes, no daemon starts on the
 * directory.
 * @throws StorageRefused with the reason
 */
export async function restore(options: RestoreOptions, now: number): Promise<RestoreResult> {
  const { file, dataDir } = options
  if (!statSync(file, { throwIfNoEntry: false })?.isFile())
    throw new StorageRefused(`No such file: ${file}. Nothing was changed.`)
  const decrypt = await decryptionFor(options)
  await makeDirectory(dataDir)
  await refuseUsed(dataDir)
  const lock = await lockDataDir(dataDir)
  try {
    await refuseUsed(dataDir)
    try {
      return await restoreEmpty(options, decrypt, now)
    } catch (error) {
      await clear(dataDir)
      throw asRefusal(error, file)
    }
  } finally {
    lock.release()
  }
}

/** Creates the step that decrypts; undefined for an unencrypted backup. */
async function decryptionFor({ file, decryption }: RestoreOptions): Promise<PipelineStep | undefined> {
  const encrypted = await isEncrypted(file)
  if (encrypted && !decryption)
    throw new StorageRefused(
      `${file} is encrypted. To decrypt it, use --identity-file or --passphrase-file. Nothing was changed.`,
    )
  if (!encrypted && decryption)
    throw new StorageRefused(
      `${file} is not encrypted. If it should be, someone may have replaced it. Otherwise, leave out --identity-file and --passphrase-file. Nothing was changed.`,
    )
  return decryption && createDecryption(decryption)
}

async function restoreEmpty(
  { file, dataDir, by }: RestoreOptions,
  decrypt: PipelineStep | undefined,
  now: number,
): Promise<RestoreResult> {
  await clear(dataDir)
  const unpacked = join(dataDir, RESTORE_FOLDER)
  const { manifest, places } = await unpack(file, unpacked, decrypt)
  const db = openCopy(join(unpacked, DATABASE_FILE))
  let held: HeldMail
  try {
    check(db, manifest, file)
    held = holdRestoredQueue(db, { by, file, createdAt: manifest.createdAt }, now)
  } finally {
    db.close()
  }
  await syncFile(join(unpacked, DATABASE_FILE))
  await putInPlace(unpacked, dataDir, places)
  const { format: _format, files: _files, ...about } = manifest
  return { about, ...held }
}

/**
 * Restores a backup into a scratch directory, checks all of it, and deletes the directory.
 * @throws StorageRefused if something is missing or damaged
 */
export async function verifyBackup(
  file: string,
  scratch: string,
  decrypt: PipelineStep | undefined,
): Promise<void> {
  try {
    const { manifest } = await unpack(file, scratch, decrypt)
    const db = openCopy(join(scratch, DATABASE_FILE))
    try {
      check(db, manifest, file)
    } finally {
      db.close()
    }
  } catch (error) {
    throw asRefusal(error, file)
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}

function asRefusal(error: unknown, file: string): StorageRefused {
  if (error instanceof StorageRefused) return error
  const { code = '' } = error as NodeJS.ErrnoException
  // Decompression failed, because the file is of another kind or truncated.
  if (code.startsWith('Z_'))
    return new StorageRefused(
      `${file} could not be restored: it is not a Posthaste backup, or it is damaged (${toFailure(error).message}). Nothing was restored.`,
    )
  return new StorageRefused(
    `${file} could not be restored: ${toFailure(error).message}. Nothing was restored.`,
  )
}

/** Files that don't indicate that a directory is in use. */
const IDLE = [LOCK_FILE, `${LOCK_FILE}-journal`, PID_FILE, 'lost+found']

async function refuseUsed(dataDir: string): Promise<void> {
  const names = await readdir(dataDir)
  // After an interrupted restore, all files in the directory come from it.
  if (names.includes(RESTORE_FOLDER) || names.every((name) => IDLE.includes(name))) return
  throw new StorageRefused(`${dataDir} is not empty. Nothing was changed. Choose an empty or new directory.`)
}

/** Removes the files of an interrupted restore, its marker last. */
async function clear(dataDir: string): Promise<void> {
  const names = (await readdir(dataDir)).filter((name) => !IDLE.includes(name) && name !== RESTORE_FOLDER)
  for (const name of names) await rm(join(dataDir, name), { recursive: true })
  await rm(join(dataDir, RESTORE_FOLDER), { recursive: true, force: true })
}

/** Maximum size of the manifest in bytes, enough for about two million messages in files. */
const LARGEST_MANIFEST = 512 * 1024 * 1024

/** Unpacks into a new directory and syncs everything. The archive must match its manifest. */
async function unpack(
  file: string,
  to: string,
  decrypt: PipelineStep | undefined,
): Promise<{ manifest: Manifest; places: string[] }> {
  await mkdir(to, { mode: 0o700 })
  const unpacking = new Unpacking(file, to)
  const stream = createReadStream(file)
  const packed = decrypt ? Readable.from(decrypt(stream), { objectMode: false }) : stream
  const gunzip = createGunzip()
  packed.on('error', (error: Error) => gunzip.destroy(error))
  try {
    for await (const part of readTar(packed.pipe(gunzip) as AsyncIterable<Buffer>))
      if (part.kind === 'file') await unpacking.begin(part.file)
      else await unpacking.write(part.bytes)
    return await unpacking.end()
  } finally {
    stream.destroy()
    await unpacking.close()
  }
}

/** Writes the archive to files. */
class Unpacking {
  readonly #backup: string
  readonly #to: string
  readonly #found: ArchiveFile[] = []
  readonly #directories = new Set<string>()
  #texts = new Map<string, Buffer[]>()
  #current: { name: string; size: number; hash: Hash; file: FileHandle | undefined } | undefined

  constructor(backup: string, to: string) {
    this.#backup = backup
    this.#to = to
  }

  async begin({ name, size }: { name: string; size: number }): Promise<void> {
    await this.#finish()
    if (this.#texts.size === 0 && name !== MARKER_NAME)
      throw new StorageRefused(`${this.#backup} is not a Posthaste backup.`)
    if (name === MARKER_NAME || name === MANIFEST_NAME) {
      if (size > LARGEST_MANIFEST || this.#texts.has(name)) throw new Error(`${name} is invalid`)
      this.#texts.set(name, [])
      this.#current = { name, size, hash: createHash('sha256'), file: undefined }
      return
    }
    this.#readMark()
    const place = resolveBackupPath(name)
    if (place === undefined) throw new Error(`it contains ${name}, which does not belong in a backup`)
    const path = join(this.#to, place)
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    this.#directories.add(dirname(path))
    this.#current = { name, size, hash: createHash('sha256'), file: await open(path, 'wx', 0o600) }
  }

  async write(bytes: Buffer): Promise<void> {
    const { name, hash, file } = this.#current!
    hash.update(bytes)
    if (file) await file.writeFile(bytes)
    else this.#texts.get(name)!.push(Buffer.from(bytes))
  }

  /** Returns the manifest and the paths of the unpacked files. Throws unless they match exactly. */
  async end(): Promise<{ manifest: Manifest; places: string[] }> {
    await this.#finish()
    this.#readMark()
    const texts = this.#texts.get(MANIFEST_NAME)
    if (!texts) throw new Error('it is incomplete: its manifest is missing')
    const manifest = JSON.parse(Buffer.concat(texts).toString('utf8')) as Manifest
    const wanted = new Map(manifest.files.map((one) => [one.name, one]))
    for (const { name, size, sha256 } of this.#found) {
      const expected = wanted.get(name)
      if (expected?.sha256 !== sha256 || expected.size !== size) throw new Error(`${name} is damaged`)
      wanted.delete(name)
    }
    const [missing] = wanted.keys()
    if (missing !== undefined) throw new Error(`${missing} is missing`)
    for (const directory of this.#directories) await syncDirectory(directory)
    return { manifest, places: this.#found.map(({ name }) => resolveBackupPath(name)!) }
  }

  async close(): Promise<void> {
    await this.#current?.file?.close()
    this.#current = undefined
  }

  #readMark(): void {
    checkMarker(Buffer.concat(this.#texts.get(MARKER_NAME) ?? []), this.#backup)
  }

  async #finish(): Promise<void> {
    if (!this.#current) return
    const { name, size, hash, file } = this.#current
    if (file) {
      await file.sync()
      this.#found.push({ name, size, sha256: hash.digest('hex') })
    }
    await this.close()
  }
}

function check(db: ReturnType<typeof openCopy>, manifest: Manifest, file: string): void {
  const troubles = findDatabaseProblems(db)
  const counts = countBackupContents(db)
  for (const [noun, count] of Object.entries(manifest.counts))
    if (counts[noun as keyof typeof counts] !== count) troubles.push(`expected ${count} ${noun}`)
  if (troubles.length > 0)
    throw new StorageRefused(
      `The database in ${file} is damaged: ${troubles.join('; ')}. Use another backup.`,
    )
}

async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r+')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Moves the unpacked files into place, the database last, and removes the marker of a restore. */
async function putInPlace(unpacked: string, dataDir: string, places: string[]): Promise<void> {
  const tops = new Set(places.map((place) => place.split('/')[0]!))
  tops.delete(DATABASE_FILE)
  for (const place of places) await giveTree(dataDir, unpacked, place)
  for (const top of [...tops, DATABASE_FILE]) await rename(join(unpacked, top), join(dataDir, top))
  await syncDirectory(dataDir)
  await rmdir(unpacked)
  await syncDirectory(dataDir)
}

/** Changes the owner of a file and of the directories above it to the owner of the data directory. */
async function giveTree(dataDir: string, unpacked: string, place: string): Promise<void> {
  const names = place.split('/')
  for (let depth = 1; depth <= names.length; depth++)
    await transferOwnership(dataDir, join(unpacked, ...names.slice(0, depth)))
}
