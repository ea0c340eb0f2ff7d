import cron from 'node-cron'
import type { Clock } from '../clock/clock.ts'
import type { Logger } from './log.ts'

/** What housekeeping needs of the storage; a shape, so that this folder knows no other. */
export interface Sweepable {
  purgeSessions(args: object, now: number): Promise<number>
  purgeReceipts(args: { limit: number }, now: number): Promise<number>
  purgeLogs(args: { before: number; most: number }, now: number): Promise<number>
}

const DAY = 24 * 60 * 60 * 1000

/** Rows removed in one transaction: a few milliseconds, in which nothing else is written. */
const STEP = 500

/** Removes all expired receipts of idempotent requests, in steps between which mail is taken; returns how many. */
export function purgeReceipts(storage: Sweepable, clock: Clock): Promise<number> {
  return inSteps(() => storage.purgeReceipts({ limit: STEP }, clock.now()))
}

/** Removes the API's requests that are older than `days`, in such steps; returns how many. */
export function purgeLogs(storage: Sweepable, clock: Clock, days: number): Promise<number> {
  const before = clock.now() - days * DAY
  return inSteps(() => storage.purgeLogs({ before, most: STEP }, clock.now()))
}

async function inSteps(step: () => Promise<number>): Promise<number> {
  let removed = 0
  for (;;) {
    const count = await step()
    removed += count
    if (count < STEP) return removed
  }
}

/** Regular chores: removing sessions that have ended, receipts that have expired, and old requests. */
export function startHousekeeping({
  storage,
  clock,
  log,
  logDays,
}: {
  storage: Sweepable
  clock: Clock
  log: Logger
  /** How many days the API's requests are kept. */
  logDays: number
}): {
  stop(): Promise<void>
} {
  const sweep = cron.schedule('17 * * * *', async () => {
    try {
      const sessions = await storage.purgeSessions({}, clock.now())
      if (sessions > 0) log.info({ sessions }, 'removed sessions that had ended')
      const receipts = await purgeReceipts(storage, clock)
      if (receipts > 0) log.info({ receipts }, 'removed receipts of requests that had expired')
      const requests = await purgeLogs(storage, clock, logDays)
      if (requests > 0) log.info({ requests }, 'removed old requests of the API')
    } catch (error) {
      log.error({ err: error }, 'housekeeping failed; it is tried again in an hour')
    }
  })
  return { stop: async () => void (await sweep.destroy()) }
}
