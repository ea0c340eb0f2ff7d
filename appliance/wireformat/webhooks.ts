import type * as schema from '../http/schemas/webhooks.ts'
import type {
  NewWebhookDelivery,
  Webhook,
  WebhookAttempt,
  WebhookDelivery,
  WebhookRequests,
} from '../storage/storage.ts'
import { isPseudonym } from '../mail/erasure.ts'
import { timestamp, timestampOrNull } from './timestamp.ts'
import type { WebhookPayload } from './webhook-events.ts'

/** What a webhook is, without what was sent to it. */
export function presentWebhookSetting(webhook: Webhook): schema.WebhookSetting {
  const { id, endpoint, events, status, createdAt, succeededAt, failingSince, disabled } = webhook
  return {
    ...{ id, endpoint, status, created_at: timestamp(createdAt) },
    events: events as schema.WebhookSetting['events'],
    last_success_at: timestampOrNull(succeededAt),
    failing_since: timestampOrNull(failingSince),
    disabled_at: timestampOrNull(disabled?.at ?? null),
    disabled_reason: disabled?.reason ?? null,
  }
}

/** An element of GET /webhooks. How the endpoint does is ours beside the hosted service's fields. */
export function presentWebhookSummary(webhook: Webhook, requests: WebhookRequests): schema.WebhookSummary {
  const { count, taken, medianMs: median_ms, p95Ms: p95_ms } = requests
  return { ...presentWebhookSetting(webhook), requests_last_day: { count, taken, median_ms, p95_ms } }
}

/** GET /webhooks/:id. */
export function presentWebhook(webhook: Webhook, requests: WebhookRequests, now: number): schema.Webhook {
  const { secret, oldSecret } = webhook
  const until = oldSecret && oldSecret.until > now ? oldSecret.until : null
  return {
    object: 'webhook',
    ...presentWebhookSummary(webhook, requests),
    signing_secret: secret,
    old_secret_until: timestampOrNull(until),
  }
}

/** An element of GET /webhooks/:id/events. */
export function presentWebhookDeliverySummary(one: WebhookDelivery): schema.WebhookEventSummary {
  return {
    id: one.id,
    type: one.type as schema.WebhookEventSummary['type'],
    created_at: timestamp(one.createdAt),
    status: one.status,
    attempts: one.attempts,
    next_attempt_at: timestampOrNull(one.status === 'pending' ? one.dueAt : null),
    email_id: one.emailId,
    about: presentAbout(one),
    last_request: one.last && {
      sent_at: timestamp(one.last.sentAt),
      http_status_code: one.last.status ?? 0,
      duration_ms: one.last.durationMs,
      error: one.last.error,
    },
  }
}

/** The properties of payloads that say what they are about; the type tells which of them there are. */
interface Told {
  email_id?: string
  to?: string[]
  subject?: string
  id?: string
  name?: string
  email?: string
}

/** What the event is about, as its payload tells it: an erasure reaches payloads, too. */
function presentAbout({ type, payload, emailKept }: WebhookDelivery): schema.WebhookAbout | null {
  const { data = {} } = JSON.parse(payload) as { data?: Told }
  const of = (object: schema.WebhookAbout['object'], id = '', names: (string | undefined)[] = []) => {
    const known = names.filter((name) => name !== undefined)
    return { object, id, names: known, subject: null, erased: known.some(isPseudonym), removed: false }
  }
  switch (type.split('.', 1)[0]) {
    case 'email':
      return { ...of('email', data.email_id, data.to), subject: data.subject ?? '', removed: !emailKept }
    case 'domain':
      return of('domain', data.id, [data.name])
    case 'suppression':
      return of('suppression', data.id, [data.email])
    default:
      return null
  }
}

/** GET /webhooks/:id/events/:event_id. */
export function presentWebhookDelivery(one: WebhookDelivery): schema.WebhookEvent {
  const payload = JSON.parse(one.payload) as WebhookPayload
  return { object: 'webhook_event', ...presentWebhookDeliverySummary(one), payload }
}

/** An element of a list of attempts. */
export function presentWebhookAttempt(attempt: WebhookAttempt): schema.WebhookAttempt {
  return {
    id: attempt.id,
    event_id: attempt.deliveryId,
    http_status_code: attempt.status ?? 0,
    response: attempt.response,
    sent_at: timestamp(attempt.sentAt),
    duration_ms: attempt.durationMs,
    error: attempt.error,
    ip: attempt.ip,
    request_headers: attempt.requestHeaders,
    response_headers: attempt.responseHeaders,
  }
}

/** The answer to a ping. */
export function presentPinged(args: {
  delivery: NewWebhookDelivery
  attempt: WebhookAttempt
}): schema.WebhookPinged {
  const { delivery, attempt } = args
  return {
    object: 'webhook_event',
    id: delivery.id,
    status: attempt.error === null ? 'success' : 'failed',
    attempt: presentWebhookAttempt(attempt),
  }
}
