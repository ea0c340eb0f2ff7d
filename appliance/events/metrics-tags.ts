/**
 * Counts events by email tag in the background, so that recording an event costs nothing extra. Events are processed in
 * order, and each batch's counts are stored together with the position reached, so that a crash counts nothing twice.
 */
import { setTimeout as rest } from 'node:timers/promises'
import type { Clock } from '../clock/clock.ts'
import type { Storage } from '../storage/storage.ts'
import type { Logger } from '../watch/log.ts'
import { createDutyCheck, type Duties } from '../watch/duties.ts'
import { createWorker, type Worker } from '../watch/worker.ts'

export type TagStorage = Pick<Storage, 'readTagCounts' | 'addTagCounts'>

/**
 * Maximum number of batches that a query processes before it is answered: several thousand events, more than usually
 * arrive between two runs.
 */
const MOST_CHUNKS = 40
/** Minimum time between runs (milliseconds). A query in between counts the missing events itself. */
const POLL_MS = 5000
/** Pause between two batches when there are many, as after an upgrade (milliseconds). */
const REST_MS = 10

/**
 * Counts the events that aren't counted yet.
 * @returns null when all events are counted; otherwise the time of the first uncounted one
 */
export async function catchUpTagCounts(storage: TagStorage, now: number): Promise<number | null> {
  for (let chunks = 0; ; chunks++) {
    const { since, more, ...chunk } = await storage.readTagCounts({}, now)
    if (since === null || chunks === MOST_CHUNKS) return since
    let added
    try {
      added = await storage.addTagCounts(chunk, now)
    } catch {
      // With a full disk, answer with the numbers so far, and the time up to which they are complete; the background
      // counter logs the problem.
      return since
    }
    if (added && !more) return null
  }
}

/** Creates the background counter; it begins with `start()`. */
export function createTagCounter({
  storage,
  clock,
  log,
  pollMs,
  duties,
}: {
  storage: TagStorage
  clock: Clock
  log: Logger
  /** How often to check for new events without being woken, in milliseconds; at least `POLL_MS`. */
  pollMs: number
  /** Default: this process is the only one. */
  duties?: Duties | undefined
}): Worker {
  const onDuty = createDutyCheck(duties, 'tag metrics')
  const step = async (): Promise<boolean> => {
    const { since, more, ...chunk } = await storage.readTagCounts({}, clock.now())
    if (since === null || !(await onDuty())) return false
    await storage.addTagCounts(chunk, clock.now())
    if (more) await rest(REST_MS)
    return more
  }
  const trouble = 'metrics by tag are delayed: the storage is not responding; no event is lost'
  return createWorker({ step, clock, log, pollMs: Math.max(POLL_MS, pollMs), trouble })
}
