/** Deliveries that end without an attempt: their state, and the event that tells of it. Pure. */
import type { EmailEventType, EventData } from '../../mail/event.ts'
import { suppressedData } from '../../mail/suppression.ts'
import type { Cause } from '../../mail/verdict.ts'

/** How a delivery ends that nobody attempts. */
export interface NotSent {
  state: 'suppressed' | 'failed'
  type: EmailEventType
  cause: Cause
  /** What the event tells beside the cause. */
  data: Pick<EventData, 'suppressed' | 'failed'>
}

/** The address is on the suppression list. */
export const suppressedEnd = (cause: Cause): NotSent => ({
  state: 'suppressed',
  type: 'email.suppressed',
  cause,
  data: { suppressed: suppressedData(cause) },
})

/** The recipient opted out of the email's topic. */
export const optedOutEnd = (cause: Cause): NotSent => ({
  state: 'failed',
  type: 'email.failed',
  cause,
  data: { failed: { reason: cause.note } },
})
