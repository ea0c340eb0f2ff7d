/**
 * Refuses new mail while disk space is low, so that accepted mail can still be delivered and its results stored. If
 * another program fills the disk, a reserve file is deleted to free space.
 */
import { refuse } from '../mail/refusals.ts'
import type { StorageFailure } from './engine/failures.ts'
import type { Storage } from './storage.ts'
import { randomFill } from 'node:crypto'
import { open, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** Options for watching disk space. */
export interface DiskSpaceOptions {
  /** Returns the free bytes in the file system of the data directory; null if unknown. */
  freeBytes: () => Promise<number | null>
  /** Number of free bytes below which mail is refused; with 0, only if the disk itself is full. */
  leastFree: number
  log: {
    info(fields: object, message: string): void
    error(fields: object, message: string): void
  }
  /** Returns a monotonic time in milliseconds; replaced in tests. */
  monotonic?: () => number
}

/**
 * How long a measurement is valid, in milliseconds. In that time, a program can write a few hundred megabytes to a fast
 * disk; a mail server writes a few.
 */
const LOOK_MS = 500
/**
 * Multiple of the limit at which mail is accepted again and the reserve is restored, so that neither changes with every
 * checkpoint.
 */
const AGAIN = 1.25
/** Minimum time between two log lines about the same problem, in milliseconds. */
const TELL_MS = 60_000

/** A failure of the storage, with any engine. */
type Failed = Partial<Pick<StorageFailure, 'kind'>>

/** The methods that accept mail. */
type Accepting = 'put' | 'keepReturned' | 'keepPostmaster'

/**
 * Wraps a storage so that it refuses new mail with `disk_full`, `outcome_unknown` or `unavailable` if the disk can't
 * store it.
 */
export function guardDiskSpace<S extends Pick<Storage, Accepting | 'saveLogs'>>(
  storage: S,
  options: DiskSpaceOptions,
): S {
  const room = new Room(options)
  const guarded =
    <Args, T>(method: (args: Args, now: number) => Promise<T>) =>
    async (args: Args, now: number): Promise<T> => {
      if (await room.isLow()) throw refuse('disk_full')
      try {
        return await method(args, now)
      } catch (error) {
        throw room.refusalOf(error)
      }
    }
  const put: Storage['put'] = guarded((args, now) => storage.put(args, now))
  const keepReturned: Storage['keepReturned'] = guarded((args, now) => storage.keepReturned(args, now))
  const keepPostmaster: Storage['keepPostmaster'] = guarded((args, now) => storage.keepPostmaster(args, now))
  // Doesn't log requests while space is low. They aren't mail, and would use the space that results of deliveries need.
  const saveLogs: Storage['saveLogs'] = async (args, now) => {
    if (!(await room.isLow())) await storage.saveLogs(args, now)
  }
  return { ...storage, put, keepReturned, keepPostmaster, saveLogs }
}

class Room {
  readonly #options: DiskSpaceOptions
  readonly #monotonic: () => number
  #low = false
  #lookedAt = -Infinity
  #looking: Promise<void> | null = null
  #toldAt = -Infinity

  constructor(options: DiskSpaceOptions) {
    this.#options = options
    this.#monotonic = options.monotonic ?? (() => performance.now())
  }

  /**
   * Whether space is low. Waits for the disk only the first time, so that a hanging disk doesn't delay every refusal.
   */
  async isLow(): Promise<boolean> {
    const first = this.#lookedAt === -Infinity
    if (!this.#looking && this.#monotonic() - this.#lookedAt >= LOOK_MS) {
      this.#lookedAt = this.#monotonic()
      this.#looking = this.#look().finally(() => (this.#looking = null))
    }
    if (first) await this.#looking
    return this.#low
  }

  async #look(): Promise<void> {
    const { freeBytes, leastFree, log } = this.#options
    const free = await freeBytes()
    if (free === null) return
    const low = free < (this.#low ? leastFree * AGAIN : leastFree)
    if (low === this.#low) return
    this.#low = low
    const fields = { free_bytes: free, min_free_bytes: leastFree }
    if (low)
      log.error(
        fields,
        'the disk under data_dir is nearly full: new mail is refused (452 4.3.1, 507) and requests are not logged until there is enough free space again; delivery of accepted mail continues. Free disk space, or lower storage.min_free_mb',
      )
    else log.info(fields, 'the disk has enough free space again: new mail is accepted')
  }

  /** Converts a failure for the client. Logs it at most once a minute. */
  refusalOf(error: unknown): unknown {
    const { kind } = error as Failed
    if (kind === undefined || kind === null) return error
    const full = kind === 'full'
    if (this.#monotonic() - this.#toldAt >= TELL_MS) {
      this.#toldAt = this.#monotonic()
      this.#options.log.error(
        { err: error },
        full
          ? 'an email was refused: the disk of the database is full. Free disk space'
          : 'an email was refused: it could not be stored. The error says what to check',
      )
    }
    if (kind === 'ambiguous') return refuse('outcome_unknown')
    return refuse(full ? 'disk_full' : 'unavailable')
  }
}

/** Options for the reserve. */
export interface DiskReserveOptions {
  dataDir: string
  /** Size of the reserve in bytes. With 0, there is none, and an existing one is deleted. */
  bytes: number
  /** Number of free bytes below which mail is refused (`storage.min_free_mb`, in bytes). */
  leastFree: number
  /** Returns the free bytes in the file system of the data directory; null if unknown. */
  freeOnDisk: () => Promise<number | null>
  /** Calls `callback` after `ms` milliseconds. Returns a function that cancels the call. */
  clock: { after(ms: number, callback: () => void): () => void }
  log: {
    info(fields: object, message: string): void
    warn(fields: object, message: string): void
    error(fields: object, message: string): void
  }
}

/** The reserve of a running daemon. */
export interface DiskReserve {
  /** Returns the free bytes for new mail, minus the space that the reserve still needs; null if unknown. */
  freeBytes(): Promise<number | null>
  /** Checks disk space, and deletes or restores the reserve. The daemon also does this every second. */
  look(): Promise<void>
  /** Stops the checks. The file is kept for the next start. */
  close(): Promise<void>
}

/** File name of the reserve in the data directory. */
const RESERVE = 'reserve'
/**
 * Number of free bytes below which the reserve is deleted, so that results can still be stored. SQLite's log grows by a
 * few kilobytes per result.
 */
const TIGHT = 2_000_000
/** Time between two checks in milliseconds. A result that couldn't be stored is also retried after a second. */
const CHECK_MS = 1000
const CHUNK = 1_000_000

const fillRandom = promisify<Buffer, Buffer>(randomFill)

const GIVEN_BACK =
  'the disk under data_dir is full: the reserve (storage.reserve_mb) was released so that delivery outcomes can still be stored. New mail is refused. Free disk space soon: the program that filled the disk can use up the reserve, too'

/**
 * Deletes the reserve if the disk is so full that the daemon may be unable to start, or even to lock the data
 * directory. Call it before anything is opened.
 */
export async function freeSpaceToStart({ dataDir, freeOnDisk, log }: DiskReserveOptions): Promise<void> {
  const free = await freeOnDisk()
  if (free === null || free >= TIGHT) return
  const path = join(dataDir, RESERVE)
  const bytes = await sizeOf(path)
  if (bytes === null) return
  await rm(path, { force: true })
  log.error({ free_bytes: free, reserve_bytes: bytes }, GIVEN_BACK)
}

/** Opens the reserve. Fills it a second later, so that it doesn't delay the start. */
export async function openDiskReserve(options: DiskReserveOptions): Promise<DiskReserve> {
  const reserve = new ReserveFile(options)
  await reserve.begin()
  return reserve
}

class ReserveFile implements DiskReserve {
  readonly #options: DiskReserveOptions
  readonly #path: string
  #held = false
  #closed = false
  #toldFailure = false
  #looking: Promise<void> = Promise.resolve()
  #cancel: () => void = () => undefined

  constructor(options: DiskReserveOptions) {
    this.#options = options
    this.#path = join(options.dataDir, RESERVE)
  }

  async begin(): Promise<void> {
    // The file is left over if the process was killed while it created the reserve.
    await rm(`${this.#path}.partial`, { force: true })
    this.#held = await this.#isThere()
    if (!this.#held) await rm(this.#path, { force: true })
    this.#later()
  }

  async freeBytes(): Promise<number | null> {
    const free = await this.#options.freeOnDisk()
    return free === null || this.#held ? free : free - this.#options.bytes
  }

  look(): Promise<void> {
    // A failing check must not end the daemon, since the next one follows in a second.
    const look = (): Promise<void> =>
      this.#look().catch((error: unknown) => this.#tellFailure(error, 'could not be checked'))
    return (this.#looking = this.#looking.then(look))
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#cancel()
    await this.#looking
  }

  #later(): void {
    if (this.#options.bytes === 0 || this.#closed) return
    this.#cancel = this.#options.clock.after(CHECK_MS, () => void this.look().then(() => this.#later()))
  }

  async #look(): Promise<void> {
    const { bytes, leastFree, freeOnDisk } = this.#options
    const free = await freeOnDisk()
    if (free === null || this.#closed || bytes === 0) return
    // Somebody may have deleted the file to free space.
    this.#held = await this.#isThere()
    if (this.#held) return free < TIGHT ? await this.#giveBack(free) : undefined
    if (free - bytes >= AGAIN * Math.max(leastFree, 2 * TIGHT)) await this.#take()
  }

  async #giveBack(free: number): Promise<void> {
    const { bytes, log } = this.#options
    try {
      await rm(this.#path, { force: true })
    } catch (error) {
      this.#tellFailure(error, 'could not be removed')
      return
    }
    this.#held = false
    log.error({ free_bytes: free, reserve_bytes: bytes }, GIVEN_BACK)
  }

  /**
   * Creates the reserve from bytes that no file system can compress or share, and syncs them before the file gets its
   * name.
   */
  async #take(): Promise<void> {
    const { bytes, log } = this.#options
    const partial = `${this.#path}.partial`
    try {
      const file = await open(partial, 'w', 0o600)
      try {
        const chunk = Buffer.alloc(Math.min(CHUNK, bytes))
        for (let left = bytes; left > 0 && !this.#closed; left -= chunk.length)
          await file.writeFile((await fillRandom(chunk)).subarray(0, left))
        await file.datasync()
      } finally {
        await file.close()
      }
      if (this.#closed) return await rm(partial, { force: true })
      await rename(partial, this.#path)
    } catch (error) {
      this.#tellFailure(error, 'could not be created')
      return await rm(partial, { force: true })
    }
    this.#held = true
    this.#toldFailure = false
    log.info({ reserve_bytes: bytes }, 'created the disk reserve (storage.reserve_mb)')
  }

  #tellFailure(error: unknown, what: string): void {
    if (this.#toldFailure) return
    this.#toldFailure = true
    const path = this.#path
    this.#options.log.warn(
      { err: error },
      `the reserve ${path} ${what}. Mail delivery continues. Check the disk and the owner of data_dir`,
    )
  }

  async #isThere(): Promise<boolean> {
    const { bytes } = this.#options
    return bytes > 0 && (await sizeOf(this.#path)) === bytes
  }
}

async function sizeOf(path: string): Promise<number | null> {
  try {
    return (await stat(path)).size
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}
