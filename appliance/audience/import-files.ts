/** Uploaded CSV files in the data directory: stores them while they arrive, and converts them to UTF-8. */
import { createHash } from 'node:crypto'
import { isUtf8 } from 'node:buffer'
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Encoding } from '../mail/contact-import.ts'
import { refuse } from '../mail/refusals.ts'
import { countCompleteUtf8Bytes } from './csv-file.ts'

/** Maximum size of an upload, in octets. */
export const MAX_UPLOAD_SIZE = 200 * 1024 * 1024

/** Number of bytes that are inspected or converted at a time. */
const PIECE = 256 * 1024
/** Number of bytes between checks of the free disk space. */
const ASK = 16 * 1024 * 1024
/** Age at which an upload counts as abandoned, in milliseconds of the file system's clock. */
const OLD_MS = 24 * 3_600_000

export interface ImportFilesDeps {
  folder: string
  /** Reports whether the disk with the data directory has enough space. */
  hasRoom: () => Promise<boolean>
}

/** A file that is being uploaded. */
export interface Upload {
  readonly size: number
  /** Appends to the file. Refuses: `body_too_large`, `disk_full`. */
  write(chunk: Uint8Array): Promise<void>
  /** Removes the file unless it was kept. */
  discard(): Promise<void>
}

/** An uploaded file that was stored. */
export interface StoredFile {
  /** SHA-256 of the upload, in hex. */
  sha256: string
  encoding: Encoding
  /** Size in UTF-8. */
  bytes: number
}

export class ImportFiles {
  readonly #deps: ImportFilesDeps

  constructor(deps: ImportFilesDeps) {
    this.#deps = deps
  }

  pathOf(id: string): string {
    return join(this.#deps.folder, `${id}.csv`)
  }

  hasRoom(): Promise<boolean> {
    return this.#deps.hasRoom()
  }

  /** Starts an upload. Refuses: `disk_full`. */
  async receive(id: string): Promise<UploadedFile> {
    await mkdir(this.#deps.folder, { recursive: true, mode: 0o700 })
    if (!(await this.#deps.hasRoom())) throw refuse('disk_full')
    const path = join(this.#deps.folder, `${id}.upload`)
    return new UploadedFile(path, this.pathOf(id), await open(path, 'wx+', 0o600), this.#deps.hasRoom)
  }

  async remove(id: string): Promise<void> {
    await rm(this.pathOf(id), { force: true })
  }

  /** Returns the IDs of the imports whose files are in the folder. */
  async ids(): Promise<string[]> {
    const names = await readdir(this.#deps.folder).catch(() => [])
    return names.flatMap((name) => (name.endsWith('.csv') ? [name.slice(0, -4)] : []))
  }

  /** Removes files of ended imports and interrupted uploads that are older than a day. */
  async removeOthers(open: readonly string[]): Promise<void> {
    const names = await readdir(this.#deps.folder).catch(() => []) // If there is no folder, nothing was ever uploaded.
    const kept = new Set(open.map((id) => `${id}.csv`))
    for (const name of names) {
      const path = join(this.#deps.folder, name)
      if (!kept.has(name) && Date.now() - (await stat(path)).mtimeMs > OLD_MS) await rm(path, { force: true })
    }
  }
}

/** One upload. */
export class UploadedFile implements Upload {
  size = 0
  readonly #path: string
  readonly #kept: string
  readonly #file: FileHandle
  readonly #hasRoom: () => Promise<boolean>
  readonly #hash = createHash('sha256')
  #open = true

  constructor(path: string, kept: string, file: FileHandle, hasRoom: () => Promise<boolean>) {
    this.#path = path
    this.#kept = kept
    this.#file = file
    this.#hasRoom = hasRoom
  }

  async write(chunk: Uint8Array): Promise<void> {
    if (this.size + chunk.length > MAX_UPLOAD_SIZE) throw refuse('body_too_large', { limit: MAX_UPLOAD_SIZE })
    const asked = Math.floor(this.size / ASK)
    this.size += chunk.length
    if (Math.floor(this.size / ASK) > asked && !(await this.#hasRoom())) throw refuse('disk_full')
    this.#hash.update(chunk)
    await this.#file.appendFile(chunk)
  }

  /** Detects the encoding and stores the file in UTF-8. Refuses: `import_no_csv`, `disk_full`. */
  async keep(): Promise<StoredFile> {
    const encoding = await encodingOf(this.#file)
    if (encoding !== 'utf-8') await this.#transcode(encoding)
    await this.#file.sync()
    const { size } = await this.#file.stat()
    await rename(this.#path, this.#kept)
    await this.#close()
    return { sha256: this.#hash.digest('hex'), encoding, bytes: size }
  }

  async discard(): Promise<void> {
    await this.#close()
    await rm(this.#path, { force: true })
  }

  async #close(): Promise<void> {
    if (!this.#open) return
    this.#open = false
    await this.#file.close()
  }

  /** Converts to a second file that then replaces the first. */
  async #transcode(encoding: Encoding): Promise<void> {
    if (!(await this.#hasRoom())) throw refuse('disk_full')
    const path = `${this.#path}.utf-8`
    const decoder = new TextDecoder(encoding, { fatal: true })
    try {
      await using to = await open(path, 'w', 0o600)
      for await (const bytes of piecesOf(this.#file))
        await to.appendFile(decoder.decode(bytes, { stream: true }))
      await to.appendFile(decoder.decode())
      await to.sync()
    } catch (error) {
      await rm(path, { force: true })
      if (error instanceof TypeError)
        throw refuse('import_no_csv', {
          problem: `it has a byte order mark of ${encoding}, and other bytes after it`,
        })
      throw error
    }
    await rename(path, this.#path)
  }
}

async function* piecesOf(file: FileHandle): AsyncGenerator<Buffer, undefined> {
  for (let at = 0; ;) {
    const buffer = Buffer.allocUnsafe(PIECE)
    const { bytesRead } = await file.read(buffer, 0, PIECE, at)
    if (bytesRead === 0) return
    at += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}

/** Magic numbers of other file formats and encodings. */
const MAGIC: [string, string][] = [
  ['PK\x03\x04', 'it is an Excel workbook or a ZIP file. Save it as CSV, or unpack it'],
  ['\x1f\x8b', 'it is compressed. Unpack it'],
  ['\xd0\xcf\x11\xe0', 'it is an Excel workbook. Save it as CSV'],
  ['%PDF', 'it is a PDF file'],
  ['\xff\xfe\0\0', 'it is in UTF-32. Save it as UTF-8'],
]

/** Detects the encoding of a file. Refuses: `import_no_csv`. */
async function encodingOf(file: FileHandle): Promise<Encoding> {
  let utf8 = true
  let rest: Buffer = Buffer.alloc(0)
  let empty = true
  for await (const piece of piecesOf(file)) {
    if (empty) {
      const start = piece.toString('latin1', 0, 4)
      const other = MAGIC.find(([magic]) => start.startsWith(magic))
      if (other) throw refuse('import_no_csv', { problem: other[1] })
      if (start.startsWith('\xff\xfe')) return 'utf-16le'
      if (start.startsWith('\xfe\xff')) return 'utf-16be'
    }
    empty = false
    if (isBinary(piece))
      throw refuse('import_no_csv', { problem: 'it has control characters that no text has' })
    if (!utf8) continue
    const bytes = Buffer.concat([rest, piece])
    const whole = countCompleteUtf8Bytes(bytes)
    utf8 = isUtf8(bytes.subarray(0, whole))
    rest = bytes.subarray(whole)
  }
  if (empty) throw refuse('import_no_csv', { problem: 'it is empty' })
  return utf8 && rest.length === 0 ? 'utf-8' : 'windows-1252'
}

/** Detects control bytes that never occur in text in these encodings. */
const isBinary = (bytes: Buffer): boolean => /[\0-\x08\x0e-\x1a\x1c-\x1f]/.test(bytes.toString('latin1'))
