/**
 * Receives request bodies: small bodies in memory, larger ones in unnamed files. Each counts towards its owner's share.
 */
import { mkdir, open, unlink, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { refuse } from '../mail/refusals.ts'
import type { Owner, MemoryShares } from './byte-shares.ts'

/** Size above which a body goes to a file, in octets. */
const IN_MEMORY = 256 * 1024
/** Number of octets that may wait for the disk before the sender is paused. */
const UNWRITTEN = 256 * 1024
const FIRST_BUFFER = 8 * 1024
/** Maximum size of a one-chunk body that uses a slice of Node's buffer pool instead of a buffer of `FIRST_BUFFER`. */
const SHARED_BUFFER = Buffer.poolSize / 2
const NO_SPACE = new Set(['ENOSPC', 'EDQUOT', 'EROFS'])

export interface IncomingBodyDeps {
  /** Folder for the files of large bodies, which are unlinked immediately. */
  folder: string
  memory: MemoryShares
  disk: MemoryShares
  /** Returns the free disk space in octets; null when unknown. `leastFree` must stay free. */
  freeBytes: () => Promise<number | null>
  leastFree: number
}

/** One request body. Chunks are copied, because a slice would keep the whole receive buffer alive. */
export class IncomingBody {
  readonly #deps: IncomingBodyDeps
  readonly #owner: Owner
  #buffer = Buffer.alloc(0)
  /** Number of octets in the buffer, and number charged to the owner for it. */
  #used = 0
  #taken = 0
  #file: Promise<FileHandle> | null = null
  /** Number of octets in the file, and number charged to the owner for it. */
  #written = 0
  #onDisk = 0
  #writing: Promise<void> = Promise.resolve()
  #unwritten = 0
  #failure: Error | null = null
  #closed = false

  constructor(deps: IncomingBodyDeps, owner: Owner) {
    this.#deps = deps
    this.#owner = owner
  }

  /** Number of octets received so far. */
  get size(): number {
    return this.#written + this.#unwritten + this.#used
  }

  /**
   * Appends a chunk. Returns a promise when the disk falls behind; await it before reading more. Refuses: `share_used`,
   * `disk_full`.
   */
  add(chunk: Uint8Array): Promise<void> | undefined {
    if (this.#failure) throw this.#failure
    if (this.#closed) return undefined
    if (this.#used + chunk.length > IN_MEMORY || !this.#reserve(chunk.length)) return this.#spill(chunk)
    this.#buffer.set(chunk, this.#used)
    this.#used += chunk.length
    return undefined
  }

  /**
   * Returns the whole body in one buffer. The caller must have reserved the memory. Refuses: `malformed_request` when
   * the body was discarded because its sender disconnected.
   */
  async whole(): Promise<Buffer> {
    if (!this.#file) return this.#buffer.subarray(0, this.#used)
    try {
      return await this.#read(await this.#flushed())
    } catch (error) {
      throw this.#closed ? refuse('malformed_request') : error
    }
  }

  async #read(file: FileHandle): Promise<Buffer> {
    const whole = Buffer.allocUnsafeSlow(this.#written)
    for (let at = 0; at < whole.length;) {
      const { bytesRead } = await file.read(whole, at, whole.length - at, at)
      if (bytesRead === 0) throw new Error('A body is shorter than what was written of it.')
      at += bytesRead
    }
    if (this.#closed) throw refuse('malformed_request')
    return whole
  }

  /** Frees memory and disk space. */
  discard(): void {
    if (this.#closed) return
    this.#closed = true
    this.#empty()
    this.#deps.disk.give(this.#owner, this.#onDisk)
    // Wait for the last write. The file is unlinked, so closing it frees the space.
    if (this.#file)
      void this.#writing
        .then(() => this.#file)
        .then(
          (file) => file?.close(),
          () => undefined,
        )
  }

  /** Grows the buffer to hold `more` octets; false when the owner's share of memory is used up. */
  #reserve(more: number): boolean {
    const need = this.#used + more
    if (need <= this.#buffer.length) return true
    const whole = this.#taken === 0 && need < SHARED_BUFFER
    const capacity = Math.min(IN_MEMORY, Math.max(need, 2 * this.#buffer.length, FIRST_BUFFER))
    if (!this.#deps.memory.take(this.#owner, capacity - this.#taken)) return false
    this.#taken = capacity
    const grown = whole ? Buffer.allocUnsafe(need) : Buffer.allocUnsafeSlow(capacity)
    this.#buffer.copy(grown, 0, 0, this.#used)
    this.#buffer = grown
    return true
  }

  #empty(): void {
    this.#deps.memory.give(this.#owner, this.#taken)
    this.#buffer = Buffer.alloc(0)
    this.#used = 0
    this.#taken = 0
  }

  /** Writes the buffer and this chunk to the file. */
  #spill(chunk: Uint8Array): Promise<void> | undefined {
    const piece = Buffer.concat([this.#buffer.subarray(0, this.#used), chunk])
    if (!this.#deps.disk.take(this.#owner, piece.length)) throw refuse('share_used')
    this.#onDisk += piece.length
    this.#empty()
    this.#unwritten += piece.length
    this.#file ??= this.#openFile()
    this.#writing = this.#writing.then(() => this.#append(piece))
    return this.#unwritten > UNWRITTEN ? this.#writing : undefined
  }

  async #append(piece: Buffer): Promise<void> {
    try {
      const file = await this.#file!
      for (let at = 0; at < piece.length && !this.#failure;)
        at += (await file.write(piece, at, piece.length - at, this.#written + at)).bytesWritten
      this.#written += piece.length
    } catch (error) {
      // The next call throws it, because no one awaits this promise.
      this.#failure ??= NO_SPACE.has((error as NodeJS.ErrnoException).code ?? '')
        ? refuse('disk_full')
        : (error as Error)
    } finally {
      this.#unwritten -= piece.length
    }
  }

  async #flushed(): Promise<FileHandle> {
    // The buffer holds octets that arrived after memory became available again.
    if (this.#used > 0) void this.#spill(Buffer.alloc(0))
    await this.#writing
    if (this.#failure) throw this.#failure
    return this.#file!
  }

  async #openFile(): Promise<FileHandle> {
    const { folder, freeBytes, leastFree } = this.#deps
    const free = await freeBytes()
    if (free !== null && free < leastFree) throw refuse('disk_full')
    return openUnnamed(folder)
  }
}

let files = 0

/** Opens a file that disappears when it is closed or the process ends. */
async function openUnnamed(folder: string): Promise<FileHandle> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, `${process.pid}-${++files}`)
  const file = await open(path, 'wx+', 0o600)
  await unlink(path)
  return file
}
