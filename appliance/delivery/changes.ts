import type { BounceSubtype } from '../mail/bounce.ts'
import { isReportWanted, type ReportKind } from '../mail/dsn.ts'
import type { EmailEventType, EventData } from '../mail/event.ts'
import { newId } from '../mail/ids.ts'
import { formatReply } from '../mail/reply.ts'
import { createSuppressionData } from '../mail/suppression.ts'
import type { Cause, Verdict } from '../mail/verdict.ts'
import { DELAY_REPORT_THRESHOLD, RETRY_PERIOD } from '../queue/schedule.ts'
import type { DeliveryChange, LeasedDelivery } from '../storage/storage.ts'

const day = 24 * 3_600_000

/** Returns what to store for a delivery: its state, its event, and a due report. Pure except for the new ID. */
export function computeChange(delivery: LeasedDelivery, verdict: Verdict, now: number): DeliveryChange {
  const { cause } = verdict
  // No event for reports, which have a null reverse-path (RFC 5321 §4.5.5).
  const told = delivery.returnPath === '' ? null : tell(delivery, verdict, now)
  return {
    deliveryId: delivery.id,
    state: verdict.kind === 'deferred' ? 'waiting' : verdict.kind,
    dueAt: verdict.kind === 'deferred' ? verdict.until : null,
    cause,
    event: told && {
      id: newId(now),
      type: told.type,
      data: { recipient: delivery.recipient, cause, ...told.data },
    },
    report: reportFor(delivery, verdict, now),
  }
}

/** Returns the report due to the sender. Storage records each kind once, so a delay may be reported repeatedly here. */
function reportFor(delivery: LeasedDelivery, verdict: Verdict, now: number): ReportKind | null {
  const { reportTo, dsn } = delivery
  const kind = kindOf(delivery, verdict, now)
  return kind && reportTo !== null && isReportWanted(dsn.notify, kind) ? kind : null
}

function kindOf({ expiresAt }: LeasedDelivery, { kind }: Verdict, now: number): ReportKind | null {
  if (kind === 'delivered') return 'relayed'
  if (kind !== 'deferred') return 'failed'
  return now - (expiresAt - RETRY_PERIOD) >= DELAY_REPORT_THRESHOLD ? 'delayed' : null
}

/** Returns the event for a verdict; null when a deferral produces none. */
function tell(
  delivery: LeasedDelivery,
  verdict: Verdict,
  now: number,
): { type: EmailEventType; data: EventData } | null {
  switch (verdict.kind) {
    case 'delivered':
      return { type: 'email.delivered', data: {} }
    case 'deferred':
      return !verdict.interrupted && isReportable(delivery, verdict.until, now)
        ? {
            type: 'email.delivery_delayed',
            data: { delay: { attempt: delivery.attempts, nextAttemptAt: verdict.until } },
          }
        : null
    case 'bounced':
      return { type: 'email.bounced', data: { bounce: bounce('Permanent', verdict) } }
    case 'expired':
      return { type: 'email.bounced', data: { bounce: bounce('Transient', verdict) } }
    case 'failed':
      return { type: 'email.failed', data: { failed: { reason: verdict.cause.note } } }
    case 'suppressed':
      return { type: 'email.suppressed', data: { suppressed: createSuppressionData(verdict.cause) } }
  }
}

/**
 * Whether a deferral produces an event: the first one does, then the last one of every day, so that twenty attempts
 * don't produce twenty events.
 */
function isReportable({ attempts, createdAt }: LeasedDelivery, until: number, now: number): boolean {
  return attempts === 1 || Math.floor((until - createdAt) / day) > Math.floor((now - createdAt) / day)
}

/** Builds the event data of a bounce (reference: wire format §5.3). */
function bounce(
  type: 'Permanent' | 'Transient',
  { cause, subType, suppress = false }: { cause: Cause; subType: BounceSubtype; suppress?: boolean },
): NonNullable<EventData['bounce']> {
  const { reply, status, category, note } = cause
  const message = type === 'Transient' ? `Expired: the retry period is over. Last attempt: ${note}` : note
  // A diagnostic code that no server sent has a private type (RFC 3464 §2.3.6).
  const diagnostic = reply
    ? `smtp; ${formatReply(reply)}`
    : `x-posthaste; ${[status, note].filter(Boolean).join(' ')}`
  return {
    type,
    subType,
    message,
    diagnosticCode: [diagnostic],
    ...(category && { category }),
    ...(suppress && { suppress }),
  }
}
