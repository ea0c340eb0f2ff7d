/** All that is known of what happened to an email, as GET /emails/:id/timeline shows it. */
import type * as timeline from '../api/timeline.ts'
import { countStatuses, recipientStatus } from '../mail/recipient-status.ts'
import type { Explanation } from '../shaping/shaping.ts'
import type { Attempt, Delivery, EmailEvent, EmailHistory, EmailSummary } from '../storage/storage.ts'
import { timestamp, timestampOrNull } from '../api/timestamp.ts'
import { waitsOf } from './waits.ts'

/** One recipient of an email, where its delivery stands, and what it waits for. */
export function presentDelivery(
  delivery: Delivery,
  waiting: Explanation | null = null,
  complained = false,
): timeline.Delivery {
  const { state, attempts, cause } = delivery
  const scheduled = delivery.scheduledAt !== null
  return {
    id: delivery.id,
    email_id: delivery.emailId,
    recipient: delivery.recipient,
    field: delivery.field,
    pool: delivery.pool,
    provider: delivery.provider,
    state,
    status: recipientStatus({ state, attempts, heard: cause !== null, scheduled, complained }),
    attempts,
    created_at: timestamp(delivery.createdAt),
    updated_at: timestamp(delivery.updatedAt),
    next_attempt_at: timestampOrNull(delivery.dueAt),
    expires_at: timestampOrNull(delivery.expiresAt),
    cause,
    waiting: waiting && {
      until: timestampOrNull(waiting.until),
      why: waiting.why,
      reason: waiting.reason,
    },
  }
}

function presentAttempt(attempt: Attempt): timeline.Attempt {
  return {
    id: attempt.id,
    delivery_ids: attempt.deliveryIds,
    started_at: timestamp(attempt.startedAt),
    ended_at: timestamp(attempt.endedAt),
    host: attempt.transcript.host,
    ip: attempt.transcript.ip,
    tls: attempt.transcript.tls,
    source: attempt.transcript.source ?? null,
    signatures: attempt.transcript.signatures ?? [],
    steps: attempt.transcript.steps,
  }
}

function presentEvent(event: EmailEvent): timeline.EmailEvent {
  return {
    id: event.id,
    type: event.type,
    created_at: timestamp(event.createdAt),
    delivery_id: event.deliveryId,
    recipient: event.data.recipient ?? null,
    cause: event.data.cause ?? null,
    visit: presentVisit(event.data),
  }
}

/** Who opened the email or followed a link; null for all other events. */
function presentVisit({ open, click, robot, seenBy }: EmailEvent['data']): timeline.Visit | null {
  const who = click ?? open
  if (!who) return null
  return {
    link: click?.link ?? null,
    ip: who.ipAddress === '' ? null : who.ipAddress,
    user_agent: who.userAgent,
    robot: robot === true,
    seen_by: seenBy ?? null,
  }
}

/** GET /emails/:id/timeline */
export function presentTimeline(
  email: Pick<EmailSummary, 'id' | 'createdAt'>,
  history: EmailHistory,
  waiting: readonly (Explanation | null)[] = [],
): timeline.Timeline {
  const complaints = history.events.filter(({ type }) => type === 'email.complained')
  const complained = new Set(complaints.map(({ deliveryId }) => deliveryId))
  const deliveries = history.deliveries.map((one, at) =>
    presentDelivery(one, waiting[at], complained.has(one.id)),
  )
  return {
    object: 'timeline',
    email_id: email.id,
    accepted_at: timestamp(email.createdAt),
    recipients: countStatuses(deliveries.map(({ status }) => status)),
    deliveries,
    attempts: history.attempts.map(presentAttempt),
    events: history.events.map(presentEvent),
    waits: waitsOf(history).map(({ deliveryId, from, until, reason, why }) => ({
      delivery_id: deliveryId,
      from: timestamp(from),
      until: timestamp(until),
      reason,
      why,
    })),
  }
}
