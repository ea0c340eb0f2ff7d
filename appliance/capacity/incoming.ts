/** Bodies on their way in: small ones in memory, larger ones in unnamed files, each on its owner's account, none of them for ever. */
import { mkdir, open, unlink, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { refuse } from '../mail/refusals.ts'
import type { Owner, Shares } from './shares.ts'

/** Larger bodies go to a file (octets). */
const IN_MEMORY = 256 * 1024
/** Octets that wait for the disk before the sender has to. */
const UNWRITTEN = 256 * 1024
const FIRST_BUFFER = 8 * 1024
/** A body of one piece up to this length takes no buffer of its own, but a part of one of Node's, which are as long as `FIRST_BUFFER`. */
const SHARED_BUFFER = Buffer.poolSize / 2
const NO_SPACE = new Set(['ENOSPC', 'EDQUOT', 'EROFS'])

export interface IncomingDeps {
  /** Where files of large bodies are made; they never have a name for long. */
  folder: string
  memory: Shares
  disk: Shares
  /** Free octets of the disk, and how many have to stay free. */
  freeBytes: () => Promise<number | null>
  leastFree: number
}

/** One body. Octets are copied: slices would keep the buffers alive that they were received in. */
export class Incoming {
  readonly #deps: IncomingDeps
  readonly #owner: Owner
  #buffer = Buffer.alloc(0)
  /** Octets in the buffer, and how many are on the owner's account for it. */
  #used = 0
  #taken = 0
  #file: Promise<FileHandle> | null = null
  /** Octets in the file, and those on the owner's account. */
  #written = 0
  #onDisk = 0
  #writing: Promise<void> = Promise.resolve()
  #unwritten = 0
  #failure: Error | null = null
  #closed = false

  constructor(deps: IncomingDeps, owner: Owner) {
    this.#deps = deps
    this.#owner = owner
  }

  /** Octets so far. */
  get size(): number {
    return this.#written + this.#unwritten + this.#used
  }

  /**
   * Adds octets. Returns a promise when the disk is behind: wait for it before more is read.
   * Refuses: `share_used`, `disk_full`.
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
   * The whole body in one piece; the caller has taken the memory for it.
   * Refuses: `malformed_request` when it was discarded meanwhile, because its sender is gone.
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

  /** Frees memory and disk. */
  discard(): void {
    if (this.#closed) return
    this.#closed = true
    this.#empty()
    this.#deps.disk.give(this.#owner, this.#onDisk)
    // After the last write; the file has no name, so that closing it removes it.
    if (this.#file)
      void this.#writing
        .then(() => this.#file)
        .then(
          (file) => file?.close(),
          () => undefined,
        )
  }

  /** Makes the buffer hold so many octets more; false when the share of memory is used up. */
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

  /** Frees the memory. */
  #empty(): void {
    this.#deps.memory.give(this.#owner, this.#taken)
    this.#buffer = Buffer.alloc(0)
    this.#used = 0
    this.#taken = 0
  }

  /** Hands what is in memory, and this, to the file. */
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
      // Thrown by the next call: nobody waits for this one.
      this.#failure ??= NO_SPACE.has((error as NodeJS.ErrnoException).code ?? '')
        ? refuse('disk_full')
        : (error as Error)
    } finally {
      this.#unwritten -= piece.length
    }
  }

  async #flushed(): Promise<FileHandle> {
    // What is left in the buffer came when there was room in memory again.
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

/** A file that is gone when it is closed, or when the process ends. */
async function openUnnamed(folder: string): Promise<FileHandle> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, `${process.pid}-${++files}`)
  const file = await open(path, 'wx+', 0o600)
  await unlink(path)
  return file
}
