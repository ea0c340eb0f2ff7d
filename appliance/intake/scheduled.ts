/** Reschedules or cancels scheduled emails. */
import type { Clock } from '../clock/clock.ts'
import { refuse } from '../mail/refusals.ts'
import { RETRY_PERIOD } from '../queue/schedule.ts'
import type { ScheduleChangeResult, Storage } from '../storage/storage.ts'
import { checkSchedule, parseSchedule } from './schedule.ts'

export interface ScheduledEmails {
  /**
   * Reschedules an email. The time has the format of `scheduled_at`.
   * Refuses: `not_found`, `not_scheduled`, `missing_field`, `invalid_field`, `schedule_past`.
   */
  reschedule(args: { teamId: string; id: string; scheduledAt: string }): Promise<void>
  /** Cancels a scheduled email, so that it is never sent. Refuses: `not_found`, `not_scheduled`. */
  cancel(args: { teamId: string; id: string }): Promise<void>
}

export function createScheduledEmails({
  storage,
  clock,
  wake,
}: {
  storage: Pick<Storage, 'reschedule' | 'cancel'>
  clock: Clock
  /** Notifies dispatch that something may be due earlier than it expects. */
  wake: () => void
}): ScheduledEmails {
  return {
    async reschedule({ teamId, id, scheduledAt: text }) {
      const now = clock.now()
      const scheduledAt = parseSchedule(text, now)
      if (scheduledAt === null) throw refuse('missing_field', { field: 'scheduled_at' })
      checkSchedule(scheduledAt, now)
      const expiresAt = scheduledAt + RETRY_PERIOD
      const result = await storage.reschedule({ teamId, id, scheduledAt, expiresAt }, now)
      assertChanged(result, 'rescheduled')
      wake()
    },
    async cancel({ teamId, id }) {
      assertChanged(await storage.cancel({ teamId, id }, clock.now()), 'canceled')
    },
  }
}

function assertChanged(result: ScheduleChangeResult, change: string): void {
  if (result.kind === 'unknown') throw refuse('not_found', { resource: 'Email' })
  if (result.kind === 'not_scheduled')
    throw refuse('not_scheduled', { change, state: result.lastEvent.replaceAll('_', ' ') })
}
