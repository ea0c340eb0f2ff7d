/**
 * Room on the disk. New mail is kept out while the disk has no room for it, so that what was accepted can still be delivered and written
 * down. The reserve is a file that is there for nothing but to be removed when another program takes the last bytes.
 */
import { refuse } from '../mail/refusals.ts'
import type { StorageFailure } from './sqlite/failures.ts'
import type { Storage } from './storage.ts'
import { randomFill } from 'node:crypto'
import { open, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** What keeping watch over the disk needs. */
export interface RoomOptions {
  /** Free bytes of the file system of the data directory; null where it cannot be asked. */
  freeBytes: () => Promise<number | null>
  /** Below so many free bytes no mail is taken; 0: only when the disk itself refuses. */
  leastFree: number
  log: {
    info(fields: object, message: string): void
    error(fields: object, message: string): void
  }
  /** Milliseconds of a clock that never jumps; for tests. */
  monotonic?: () => number
}

/** How old the knowledge of the disk may be (milliseconds). A fast disk is filled by some hundred megabytes meanwhile, a mail server's by few. */
const LOOK_MS = 500
/** Mail, and the reserve, are taken again when there is a quarter more than needed, lest they come and go with every checkpoint. */
const AGAIN = 1.25
/** The same trouble is told at most so often (milliseconds). */
const TELL_MS = 60_000

/** A failure of the storage, whatever its engine. */
type Failed = Partial<Pick<StorageFailure, 'kind'>>

/** What takes mail in. */
type Accepting = 'put' | 'keepReturned' | 'keepPostmaster'

/** The same storage, but new mail is refused with `disk_full`, `outcome_unknown` or `unavailable` where the disk does not take it. */
export function withRoom<S extends Pick<Storage, Accepting | 'saveLogs'>>(
  storage: S,
  options: RoomOptions,
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
  // Requests are not mail: while there is no room, they would take what settling needs.
  const saveLogs: Storage['saveLogs'] = async (args, now) => {
    if (!(await room.isLow())) await storage.saveLogs(args, now)
  }
  return { ...storage, put, keepReturned, keepPostmaster, saveLogs }
}

class Room {
  readonly #options: RoomOptions
  readonly #monotonic: () => number
  #low = false
  #lookedAt = -Infinity
  #looking: Promise<void> | null = null
  #toldAt = -Infinity

  constructor(options: RoomOptions) {
    this.#options = options
    this.#monotonic = options.monotonic ?? (() => performance.now())
  }

  /** Waits for the disk only the first time: one that hangs must not make everybody wait to be refused. */
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

  /** What the client hears of a failure, which the log hears once a minute. */
  refusalOf(error: unknown): unknown {
    const { kind } = error as Failed
    if (kind === undefined || kind === null) return error
    const full = kind === 'full'
    if (this.#monotonic() - this.#toldAt >= TELL_MS) {
      this.#toldAt = this.#monotonic()
      this.#options.log.error(
        { err: error },
        full
          ? 'an email was refused: the disk under data_dir is full. Free disk space'
          : 'an email was refused: it could not be stored. Check the error, the disk and the permissions of data_dir',
      )
    }
    if (kind === 'ambiguous') return refuse('outcome_unknown')
    return refuse(full ? 'disk_full' : 'unavailable')
  }
}

/** What the reserve needs. */
export interface ReserveOptions {
  dataDir: string
  /** Its size in bytes; 0: none, and one that is there goes. */
  bytes: number
  /** Below so many free bytes no mail is taken (`storage.min_free_mb`, in bytes). */
  leastFree: number
  /** Free bytes of the file system of the data directory; null where it cannot be asked. */
  freeOnDisk: () => Promise<number | null>
  /** Calls back after so many milliseconds; the returned function takes it back. */
  clock: { after(ms: number, callback: () => void): () => void }
  log: {
    info(fields: object, message: string): void
    warn(fields: object, message: string): void
    error(fields: object, message: string): void
  }
}

/** The reserve of a running daemon. */
export interface Reserve {
  /** Free bytes for new mail: what is free, less what the reserve is to have again. Null where the disk cannot be asked. */
  freeBytes(): Promise<number | null>
  /** Looks at the disk, and gives the reserve back or takes it; so does the daemon every second. */
  look(): Promise<void>
  /** No further looks. The file stays: it is there for the next start, too. */
  close(): Promise<void>
}

/** Its name in the data directory. */
const RESERVE = 'reserve'
/** Given back below so many free bytes: settling must not have failed before. SQLite's log grows by some kilobytes with each outcome. */
const TIGHT = 2_000_000
/** Between two looks, in milliseconds: an outcome that could not be stored is tried again after a second, too. */
const CHECK_MS = 1000
const CHUNK = 1_000_000

const fillRandom = promisify<Buffer, Buffer>(randomFill)

const GIVEN_BACK =
  'the disk under data_dir is full: the reserve (storage.reserve_mb) was released so that delivery outcomes can still be stored. New mail is refused. Free disk space soon: the program that filled the disk can use up the reserve, too'

/** Gives the reserve back where a start would find no room, even for the lock on the data directory. To be called before anything is opened. */
export async function makeRoomToStart({ dataDir, freeOnDisk, log }: ReserveOptions): Promise<void> {
  const free = await freeOnDisk()
  if (free === null || free >= TIGHT) return
  const path = join(dataDir, RESERVE)
  const bytes = await sizeOf(path)
  if (bytes === null) return
  await rm(path, { force: true })
  log.error({ free_bytes: free, reserve_bytes: bytes }, GIVEN_BACK)
}

/** Opens the reserve. It is filled a second later, and holds up no start. */
export async function openReserve(options: ReserveOptions): Promise<Reserve> {
  const reserve = new ReserveFile(options)
  await reserve.begin()
  return reserve
}

class ReserveFile implements Reserve {
  readonly #options: ReserveOptions
  readonly #path: string
  #held = false
  #closed = false
  #toldFailure = false
  #looking: Promise<void> = Promise.resolve()
  #cancel: () => void = () => undefined

  constructor(options: ReserveOptions) {
    this.#options = options
    this.#path = join(options.dataDir, RESERVE)
  }

  async begin(): Promise<void> {
    // What a kill left of one that was being made.
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
    // A disk that cannot be looked at must not end the daemon; the next look is in a second.
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
    // Somebody who makes room may have removed it.
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

  /** Bytes that no file system can leave out or share, on the disk before the file has its name. */
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
