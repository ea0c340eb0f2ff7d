import type { Cause } from './verdict.ts'

/** What can happen to an email, under the names the webhooks use (reference: wire format §5.2). */
export const EMAIL_EVENTS = [
  'email.scheduled',
  'email.sent',
  'email.delivered',
  'email.delivery_delayed',
  'email.bounced',
  'email.failed',
  'email.suppressed',
] as const
export type EmailEventType = (typeof EMAIL_EVENTS)[number]

/** Every value that `last_event` of an email can have (reference: wire format §7). */
export const LAST_EVENTS = [
  'queued',
  'scheduled',
  'sent',
  'delivered',
  'delivery_delayed',
  'bounced',
  'complained',
  'opened',
  'clicked',
  'failed',
  'canceled',
  'suppressed',
] as const
export type LastEvent = (typeof LAST_EVENTS)[number]

/** What an event tells beside its type; all of it optional but the cause where there was one. */
export interface EventData {
  recipient?: string
  cause?: Cause
  /** Bounces: the class on the wire. */
  bounce?: {
    type: 'Permanent' | 'Transient' | 'Undetermined'
    subType: string
    message: string
    diagnosticCode: string[]
  }
  /** Failures: the reason in a word or a sentence. */
  failed?: { reason: string }
  /** Suppressions: why, in the words of the wire format; `reason` is null for an address put on the list by hand. */
  suppressed?: {
    message: string
    type: 'Suppressed' | 'OnAccountSuppressionList'
    reason: 'previous_bounce' | 'previous_complaint' | null
  }
  /** Delays: the number of the attempt, and when the next one is due (Unix milliseconds). */
  delay?: { attempt: number; nextAttemptAt: number }
}

/** The `last_event` that an event leaves behind: its type without the noun. */
export function lastEventOf(type: EmailEventType): LastEvent {
  return type.slice('email.'.length) as LastEvent
}
