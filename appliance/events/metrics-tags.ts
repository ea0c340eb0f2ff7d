/**
 * Counts what happened by the tags of the emails, behind the mail: recording an event costs nothing for it. The events are walked in
 * their order, and what a stretch of them adds is written together with how far that is, so that a kill counts nothing twice.
 */
import { setTimeout as rest } from 'node:timers/promises'
import type { Clock } from '../clock/clock.ts'
import type { Storage } from '../storage/storage.ts'
import type { Logger } from '../watch/log.ts'
import { dutyOf, type Duties } from '../watch/duties.ts'
import { createWorker, type Worker } from '../watch/worker.ts'

export type TagStorage = Pick<Storage, 'readTagCounts' | 'addTagCounts'>

/** Stretches that a question counts before it is answered: some thousands of events, more than come between two looks. */
const MOST_STRETCHES = 40
/** Least time between looks (milliseconds): who asks sooner counts what is missing. */
const POLL_MS = 5000
/** Rest between two stretches when there are many, as after an upgrade (milliseconds). */
const REST_MS = 10

/**
 * Counts what is not counted yet.
 * @returns null: everything that had happened is counted; else when the first that is not happened
 */
export async function catchUp(storage: TagStorage, now: number): Promise<number | null> {
  for (let stretches = 0; ; stretches++) {
    const { since, more, ...stretch } = await storage.readTagCounts({}, now)
    if (since === null || stretches === MOST_STRETCHES) return since
    let added
    try {
      added = await storage.addTagCounts(stretch, now)
    } catch {
      // A full disk hides no numbers: the answer says how far they go, and the counter in the background tells the log.
      return since
    }
    if (added && !more) return null
  }
}

/** What counts by tag in the background; it begins with `start()`. */
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
  /** How often to look for new events at least, in milliseconds. */
  pollMs: number
  /** By default this process is alone. */
  duties?: Duties | undefined
}): Worker {
  const onDuty = dutyOf(duties, 'tag metrics')
  const step = async (): Promise<boolean> => {
    const { since, more, ...stretch } = await storage.readTagCounts({}, clock.now())
    if (since === null || !(await onDuty())) return false
    await storage.addTagCounts(stretch, clock.now())
    if (more) await rest(REST_MS)
    return more
  }
  const trouble = 'metrics by tag are delayed: the storage is not responding; no event is lost'
  return createWorker({ step, clock, log, pollMs: Math.max(POLL_MS, pollMs), trouble })
}
