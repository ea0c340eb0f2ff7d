/** Keeps new mail out while the disk has no room for it, so that what was accepted can still be delivered and written down. */
import { refuse } from '../mail/refusals.ts'
import type { StorageFailure } from './sqlite/failures.ts'
import type { Storage } from './storage.ts'

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
/** Mail is taken again when there is a quarter more than the least, lest it comes and goes with every checkpoint. */
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
