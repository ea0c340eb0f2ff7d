/** `posthaste restore`: creates a data directory from a backup, completely or not at all, with the queue on hold. */
import { createHash, type Hash } from 'node:crypto'
import { createReadStream, statSync } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rename, rm, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import type { Actor } from '../../mail/audit.ts'
import {
  DATABASE,
  giveToOwnerOf,
  LOCK,
  LOCK_HOLDER,
  lockDataDir,
  makeDirectory,
  RESTORING,
  syncDirectory,
} from '../sqlite/directory.ts'
import { pack, StorageRefused } from '../engine/failures.ts'
import { createDecryption, type Decryption, isEncrypted, readTar, type Step } from './archive.ts'
import {
  type BackedUpFile,
  checkMark,
  countAll,
  type Held,
  holdAll,
  type Manifest,
  MANIFEST_NAME,
  MARK_NAME,
  openCopy,
  placeOf,
  type Restored,
  troublesOf,
} from './copy.ts'

export interface RestoreOptions {
  /** The backup file. */
  file: string
  /** The target. Created if it is missing; otherwise it must be empty. */
  dataDir: string
  /** Who restores it, for the audit log of the restored server. */
  by: Actor
  /** The keys to an encrypted backup. */
  decryption?: Decryption | undefined
}

/**
 * Restores a backup into an empty directory: unpacks and checks it in a subfolder, holds the queue, then moves it into
 * place, the database last. After an interruption, start it again. Until it finishes, no daemon starts on the
 * directory.
 * @throws StorageRefused with the reason
 */
export async function restore(options: RestoreOptions, now: number): Promise<Restored> {
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
async function decryptionFor({ file, decryption }: RestoreOptions): Promise<Step | undefined> {
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
  decrypt: Step | undefined,
  now: number,
): Promise<Restored> {
  await clear(dataDir)
  const unpacked = join(dataDir, RESTORING)
  const { manifest, places } = await unpack(file, unpacked, decrypt)
  const db = openCopy(join(unpacked, DATABASE))
  let held: Held
  try {
    check(db, manifest, file)
    held = holdAll(db, { by, file, createdAt: manifest.createdAt }, now)
  } finally {
    db.close()
  }
  await syncFile(join(unpacked, DATABASE))
  await putInPlace(unpacked, dataDir, places)
  const { format: _format, files: _files, ...about } = manifest
  return { about, ...held }
}

/**
 * Restores a backup into a scratch directory, checks all of it, and deletes the directory.
 * @throws StorageRefused when something is missing or damaged
 */
export async function verifyBackup(file: string, scratch: string, decrypt: Step | undefined): Promise<void> {
  try {
    const { manifest } = await unpack(file, scratch, decrypt)
    const db = openCopy(join(scratch, DATABASE))
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
  // Decompression failed: another kind of file, or a truncated one.
  if (code.startsWith('Z_'))
    return new StorageRefused(
      `${file} could not be restored: it is not a Posthaste backup, or it is damaged (${pack(error).message}). Nothing was restored.`,
    )
  return new StorageRefused(`${file} could not be restored: ${pack(error).message}. Nothing was restored.`)
}

/** Files that don't indicate that a directory is in use. */
const IDLE = [LOCK, `${LOCK}-journal`, LOCK_HOLDER, 'lost+found']

async function refuseUsed(dataDir: string): Promise<void> {
  const names = await readdir(dataDir)
  // After an interrupted restore, everything in the directory comes from it.
  if (names.includes(RESTORING) || names.every((name) => IDLE.includes(name))) return
  throw new StorageRefused(`${dataDir} is not empty. Nothing was changed. Choose an empty or new directory.`)
}

/** Removes the files of an interrupted restore, its marker last. */
async function clear(dataDir: string): Promise<void> {
  const names = (await readdir(dataDir)).filter((name) => !IDLE.includes(name) && name !== RESTORING)
  for (const name of names) await rm(join(dataDir, name), { recursive: true })
  await rm(join(dataDir, RESTORING), { recursive: true, force: true })
}

/** Limit on the manifest in bytes, enough for about two million messages in files. */
const LARGEST_MANIFEST = 512 * 1024 * 1024

/** Unpacks into a new directory and syncs everything. The archive must match its manifest. */
async function unpack(
  file: string,
  to: string,
  decrypt: Step | undefined,
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
  readonly #found: BackedUpFile[] = []
  readonly #directories = new Set<string>()
  #texts = new Map<string, Buffer[]>()
  #current: { name: string; size: number; hash: Hash; file: FileHandle | undefined } | undefined

  constructor(backup: string, to: string) {
    this.#backup = backup
    this.#to = to
  }

  async begin({ name, size }: { name: string; size: number }): Promise<void> {
    await this.#finish()
    if (this.#texts.size === 0 && name !== MARK_NAME)
      throw new StorageRefused(`${this.#backup} is not a Posthaste backup.`)
    if (name === MARK_NAME || name === MANIFEST_NAME) {
      if (size > LARGEST_MANIFEST || this.#texts.has(name)) throw new Error(`${name} is invalid`)
      this.#texts.set(name, [])
      this.#current = { name, size, hash: createHash('sha256'), file: undefined }
      return
    }
    this.#readMark()
    const place = placeOf(name)
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

  /** Returns the manifest and the unpacked files. Throws unless they match exactly. */
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
    return { manifest, places: this.#found.map(({ name }) => placeOf(name)!) }
  }

  async close(): Promise<void> {
    await this.#current?.file?.close()
    this.#current = undefined
  }

  #readMark(): void {
    checkMark(Buffer.concat(this.#texts.get(MARK_NAME) ?? []), this.#backup)
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
  const troubles = troublesOf(db)
  const counts = countAll(db)
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
  tops.delete(DATABASE)
  for (const place of places) await giveTree(dataDir, unpacked, place)
  for (const top of [...tops, DATABASE]) await rename(join(unpacked, top), join(dataDir, top))
  await syncDirectory(dataDir)
  await rmdir(unpacked)
  await syncDirectory(dataDir)
}

/** Gives a file and the directories above it to the owner of the data directory. */
async function giveTree(dataDir: string, unpacked: string, place: string): Promise<void> {
  const names = place.split('/')
  for (let depth = 1; depth <= names.length; depth++)
    await giveToOwnerOf(dataDir, join(unpacked, ...names.slice(0, depth)))
}
