/** Liveness and readiness of the process, for supervisors and load balancers. */
import type { Clock } from '../clock/clock.ts'

/** The result of either check. */
export interface Health {
  ok: boolean
  /** Sentences that describe each problem and what to do. Empty if healthy. */
  reasons: string[]
}

export interface HealthDeps {
  storage: {
    nextDue(args: { closed: string[] }, now: number): Promise<unknown>
    /** Called with a limit of zero rows, so that it is only a round trip to the writer. */
    purgeReceipts(args: { limit: number }, now: number): Promise<unknown>
  }
  clock: Clock
  /** Returns the free bytes on the file system of the data directory; null if unknown. */
  freeBytes: () => Promise<number | null>
  /** Number of free bytes below which mail is refused (`storage.min_free_mb`). */
  leastFree: number
  /** Returns why the last write failed; null if it didn't fail. */
  lastFailure: () => string | null
  /**
   * Whether the storage is on a separate server. Restarting the daemon can't repair that server, and reconnecting is
   * faster, so liveness doesn't depend on it.
   */
  isRemote?: boolean
  /** Returns why this node must not deliver (heartbeat.ts); null if it may. */
  fenced?: () => string | null
}

export interface HealthChecks {
  /** Whether the event loop runs and the storage answers. If not, a restart may help. */
  alive(): Promise<Health>
  /** Whether mail is accepted now. If not, use another node; a restart doesn't help. */
  ready(): Promise<Health>
  /** Marks that shutdown has begun: alive but no longer ready. */
  stopping(): void
}

/** Time limit for a response of the storage, in milliseconds. Busy storage takes tens of milliseconds. */
const PATIENCE = 5000

/** Reasons to report: a failed read, a failed write, and an earlier failed write. */
type Reasons = readonly [noRead: string, noWrite: string, badWrite: string]

const DISK_REASONS: Reasons = [
  `The database did not respond within ${PATIENCE / 1000} seconds. Check the disk and data_dir, then restart.`,
  `The database did not complete a write within ${PATIENCE / 1000} seconds. Check the disk under data_dir.`,
  'The last change could not be stored. See the log for the reason, and check the disk under data_dir.',
]

const SERVER_REASONS: Reasons = [
  'The database server does not respond to reads. Check that it is running and that storage.url is correct. Posthaste reconnects automatically.',
  'The database server rejects writes. Check its log and disk space. Posthaste reconnects automatically.',
  'The last change could not be stored. See the log for the reason, and check the database server.',
]

/** Returns the result of the work; undefined if the work doesn't finish in time. */
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
    // The storage logs the reason of the failure.
    return false
  }
}

export function createHealthChecks({
  storage,
  clock,
  freeBytes,
  leastFree,
  lastFailure,
  isRemote = false,
  fenced = () => null,
}: HealthDeps): HealthChecks {
  const [noRead, noWrite, badWrite] = isRemote ? SERVER_REASONS : DISK_REASONS
  let stopping = false
  const reads = () => answers(clock, () => storage.nextDue({ closed: [] }, clock.now()))
  const writes = () => answers(clock, () => storage.purgeReceipts({ limit: 0 }, clock.now()))
  const health = (reasons: string[]): Health => ({ ok: reasons.length === 0, reasons })
  return {
    stopping: () => void (stopping = true),
    alive: async () => health(isRemote || (await reads()) ? [] : [noRead]),
    async ready() {
      const reasons = stopping
        ? ['This node is stopping. It will restart, or another node will take over.']
        : []
      const [read, written, free] = await Promise.all([reads(), writes(), freeBytes()])
      reasons.push(...[fenced()].filter((reason) => reason !== null))
      if (!read) reasons.push(noRead)
      if (!written) reasons.push(noWrite)
      else if (lastFailure() !== null) reasons.push(badWrite)
      if (free !== null && free < leastFree)
        reasons.push(
          `The disk under data_dir has less than ${leastFree / 1_000_000} MB free (storage.min_free_mb), so mail is refused. Free some space.`,
        )
      return health(reasons)
    },
  }
}
