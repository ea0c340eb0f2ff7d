import cron from 'node-cron'
import type { Clock } from '../clock/clock.ts'
import type { Logger } from './log.ts'

/** What housekeeping needs of the storage; a shape, so that this folder knows no other. */
export interface Sweepable {
  purgeSessions(args: object, now: number): Promise<number>
}

/** Regular chores: today, removing sessions that have ended. */
export function startHousekeeping({
  storage,
  clock,
  log,
}: {
  storage: Sweepable
  clock: Clock
  log: Logger
}): {
  stop(): Promise<void>
} {
  const sweep = cron.schedule('17 * * * *', async () => {
    try {
      const sessions = await storage.purgeSessions({}, clock.now())
      if (sessions > 0) log.info({ sessions }, 'removed sessions that had ended')
    } catch (error) {
      log.error({ err: error }, 'housekeeping failed; it is tried again in an hour')
    }
  })
  return { stop: async () => void (await sweep.destroy()) }
}
