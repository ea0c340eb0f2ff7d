/** Final states of deliveries without an attempt, and their events. Pure. */
import type { EmailEventType, EventData } from '../../mail/event.ts'
import { suppressedData } from '../../mail/suppression.ts'
import type { Cause } from '../../mail/verdict.ts'

/** The end of a delivery that is never attempted. */
export interface NotSent {
  state: 'suppressed' | 'failed'
  type: EmailEventType
  cause: Cause
  /** Event data in addition to the cause. */
  data: Pick<EventData, 'suppressed' | 'failed'>
}

/** The end of a delivery to a suppressed address. */
export const suppressedEnd = (cause: Cause): NotSent => ({
  state: 'suppressed',
  type: 'email.suppressed',
  cause,
  data: { suppressed: suppressedData(cause) },
})

/** The end of a delivery whose recipient opted out of the email's topic. */
export const optedOutEnd = (cause: Cause): NotSent => ({
  state: 'failed',
  type: 'email.failed',
  cause,
  data: { failed: { reason: cause.note } },
})
