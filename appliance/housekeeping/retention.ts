/** Removes data after its retention period, and estimates when the disk will be full. */
import type { Clock } from '../clock/clock.ts'

const DAY = 24 * 60 * 60 * 1000

/** Retention periods of emails in a final state, in days. */
export interface RetentionPeriods {
  bodiesDays: number
  attemptsDays: number
  eventsDays: number
  emailsDays: number
  /** Maximum bytes to keep; null to use the whole disk. */
  diskBudget: number | null
}

interface Purged {
  count: number
  bytes: number
  next: string | null
}

type Purge = (
  args: { before: number; most: number; after?: string | undefined; enough?: number },
  now: number,
) => Promise<Purged>

/** The storage methods that this file needs. A structural type, so that this folder doesn't import other folders. */
export interface RetentionStorage {
  purgeBodies: Purge
  purgeUnkeptBodies: Purge
  purgeAttempts: Purge
  purgeEvents: Purge
  purgeEmails: Purge
  purgeReceived(args: { before: number; most: number }, now: number): Promise<number>
  shrink(args: { pages: number }, now: number): Promise<number>
  diskUse(args: object, now: number): Promise<{ database: number; free: number; files: number }>
  saveDiskDay(args: { day: string; bytes: number; since: string }, now: number): Promise<void>
}

/** Numbers of objects removed by one run. */
export interface RetentionResult {
  /** Number of emails whose bodies were removed, including for the budget. */
  bodies: number
  attempts: number
  events: number
  emails: number
  /** Number of returned messages, and of mail to postmaster. */
  received: number
  /** Whether usage exceeds the budget although nothing is left to remove. */
  overBudget: boolean
}

/** Maximum number of rows examined per step, so that the writer is blocked for only a few milliseconds. */
const MOST: Record<'bodies' | 'attempts' | 'events' | 'emails' | 'received', number> = {
  bodies: 200,
  attempts: 200,
  events: 500,
  emails: 500,
  received: 20,
}

/** Number of database pages released per step: about 4 MB. */
const PAGES = 1000
/**
 * Share of the database that free pages may have. Free pages are reused; only when they exceed this share, some are
 * released.
 */
const FREE_SHARE = 0.25

/** Runs steps of one kind until nothing is left, enough bytes were freed, or `stop` returns true. */
async function every(
  step: (after: string | undefined, enough: number) => Promise<Purged>,
  stop: () => boolean,
  enough = Infinity,
): Promise<number> {
  let count = 0
  let bytes = 0
  let after: string | undefined
  while (bytes < enough && !stop()) {
    const done = await step(after, enough - bytes)
    count += done.count
    bytes += done.bytes
    if (done.next === null) break
    after = done.next
  }
  return count
}

/**
 * Runs the retention once: each kind after its period, then bodies, oldest first, while usage exceeds the budget, then
 * releases free pages. Can be interrupted at any point; the next run continues.
 * @param stopped called between steps, each of which blocks the writer only briefly
 */
export async function runRetention(
  storage: RetentionStorage,
  clock: Clock,
  { bodiesDays, attemptsDays, eventsDays, emailsDays, diskBudget }: RetentionPeriods,
  stopped: () => boolean = () => false,
): Promise<RetentionResult> {
  const run = (purge: Purge, most: number, before: number, enough?: number): Promise<number> =>
    every((after, enough) => purge({ before, most, after, enough }, clock.now()), stopped, enough)
  const before = (days: number): number => clock.now() - days * DAY
  const emails = await run(storage.purgeEmails, MOST.emails, before(emailsDays))
  const attempts = await run(storage.purgeAttempts, MOST.attempts, before(attemptsDays))
  const events = await run(storage.purgeEvents, MOST.events, before(eventsDays))
  let bodies = await run(storage.purgeBodies, MOST.bodies, before(bodiesDays))
  const received = await purgeReceived(storage, clock, before(bodiesDays), stopped)
  const held = async (): Promise<number> => {
    const { database, files } = await storage.diskUse({}, clock.now())
    return database + files
  }
  const excess = diskBudget === null ? 0 : (await held()) - diskBudget
  if (excess > 0) bodies += await run(storage.purgeBodies, MOST.bodies, clock.now(), excess)
  await shrink(storage, clock, stopped)
  const bytes = await held()
  const day = (ms: number): string => new Date(ms).toISOString().slice(0, 10)
  await storage.saveDiskDay({ day: day(clock.now()), bytes, since: day(before(60)) }, clock.now())
  return { bodies, attempts, events, emails, received, overBudget: diskBudget !== null && bytes > diskBudget }
}

/** Removes received messages together with the bodies, because they quote sent mail. */
async function purgeReceived(
  storage: Pick<RetentionStorage, 'purgeReceived'>,
  clock: Clock,
  before: number,
  stopped: () => boolean,
): Promise<number> {
  let removed = 0
  while (!stopped()) {
    const count = await storage.purgeReceived({ before, most: MOST.received }, clock.now())
    if (count === 0) break
    removed += count
  }
  return removed
}

async function shrink(storage: RetentionStorage, clock: Clock, stopped: () => boolean): Promise<void> {
  while (!stopped()) {
    const { database, free } = await storage.diskUse({}, clock.now())
    if (free <= FREE_SHARE * (database + free)) return
    if ((await storage.shrink({ pages: PAGES }, clock.now())) === 0) return
  }
}

/**
 * Age below which emails are left alone, in milliseconds, because the request that created them may not be logged yet.
 */
const LOGGED_BY = 60_000

/**
 * Removes bodies of final emails of domains that don't store them, and of erased addresses. Returns how many.
 * @param logged whether requests are logged; if so, emails of the last minute are left for the next run
 */
export function removeUnwantedBodies(
  storage: Pick<RetentionStorage, 'purgeUnkeptBodies'>,
  clock: Clock,
  logged = true,
): Promise<number> {
  const age = logged ? LOGGED_BY : 0
  return every(
    () => storage.purgeUnkeptBodies({ before: clock.now() - age, most: MOST.bodies }, clock.now()),
    () => false,
  )
}

/** Number of days from which the growth is estimated. */
const JUDGED_DAYS = 7

/**
 * Estimates the number of days until the space is used up, from the last week; null when usage doesn't grow, or too
 * little is known.
 * @param days usage per UTC day, oldest first
 * @param room free bytes
 */
export function forecastDaysUntilFull(
  days: readonly { day: string; bytes: number }[],
  room: number,
): number | null {
  const last = days.at(-1)
  if (!last) return null
  const at = (day: string): number => Date.parse(`${day}T00:00:00Z`) / DAY
  const first = days.find(({ day }) => at(last.day) - at(day) <= JUDGED_DAYS)!
  const span = at(last.day) - at(first.day)
  const growth = span === 0 ? 0 : (last.bytes - first.bytes) / span
  return growth > 0 ? Math.max(0, Math.floor(room / growth)) : null
}
