/** Whether the process lives, and whether it takes mail: for supervisors and load balancers. */
import type { Clock } from '../clock/clock.ts'

/** The answer of one of the two. */
export interface Health {
  ok: boolean
  /** Sentences: what is wrong, and what to do. Empty when all is well. */
  reasons: string[]
}

export interface HealthDeps {
  storage: {
    nextDue(args: { closed: string[] }, now: number): Promise<unknown>
    /** Asked to remove nothing: goes all the way to the writer. */
    purgeReceipts(args: { limit: number }, now: number): Promise<unknown>
  }
  clock: Clock
  /** Free bytes of the file system of the data directory; null where it cannot be asked. */
  freeBytes: () => Promise<number | null>
  /** Below so many free bytes mail is refused (`storage.min_free_mb`). */
  leastFree: number
  /** Why the last write failed; null: it did not. */
  lastFailure: () => string | null
}

export interface HealthChecks {
  /** The event loop turns and the storage answers. When not, a restart may help. */
  alive(): Promise<Health>
  /** Mail is accepted now. When not, send it to another node; a restart does not help. */
  ready(): Promise<Health>
  /** A stop has begun: not ready any more, but alive. */
  stopping(): void
}

/** How long the storage may take to answer (milliseconds): a busy one takes tens. */
const PATIENCE = 5000

const NO_READ = `The database did not respond within ${PATIENCE / 1000} seconds. Check the disk and data_dir, then restart.`
const NO_WRITE = `The database did not complete a write within ${PATIENCE / 1000} seconds. Check the disk under data_dir.`

/** Undefined when the work does not end in time. */
async function inTime<T>(clock: Clock, work: Promise<T>): Promise<T | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>()
  const cancel = clock.after(PATIENCE, () => resolve(undefined))
  try {
    return await Promise.race([work, promise])
  } finally {
    cancel()
  }
}

async function answers(clock: Clock, ask: () => Promise<unknown>): Promise<boolean> {
  try {
    return (
      (await inTime(
        clock,
        ask().then(() => true),
      )) === true
    )
  } catch {
    // Whatever the reason, it is no answer; the storage tells the log why.
    return false
  }
}

export function createHealth({
  storage,
  clock,
  freeBytes,
  leastFree,
  lastFailure,
}: HealthDeps): HealthChecks {
  let stopping = false
  const reads = () => answers(clock, () => storage.nextDue({ closed: [] }, clock.now()))
  const writes = () => answers(clock, () => storage.purgeReceipts({ limit: 0 }, clock.now()))
  const health = (reasons: string[]): Health => ({ ok: reasons.length === 0, reasons })
  return {
    stopping: () => void (stopping = true),
    alive: async () => health((await reads()) ? [] : [NO_READ]),
    async ready() {
      const reasons = stopping
        ? ['This node is stopping. It will restart, or another node will take over.']
        : []
      const [read, written, free] = await Promise.all([reads(), writes(), freeBytes()])
      if (!read) reasons.push(NO_READ)
      if (!written) reasons.push(NO_WRITE)
      else if (lastFailure() !== null)
        reasons.push(
          'The last change could not be stored. See the log for the reason, and check the disk under data_dir.',
        )
      if (free !== null && free < leastFree)
        reasons.push(
          `The disk under data_dir has less than ${leastFree / 1_000_000} MB free (storage.min_free_mb), so mail is refused. Free some space.`,
        )
      return health(reasons)
    },
  }
}
