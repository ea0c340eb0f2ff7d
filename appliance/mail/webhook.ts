/** The words of webhooks: which events can be asked for, and when a failed delivery is tried again. */

/**
 * Every event type that an endpoint can be subscribed to: the hosted service's (reference: wire format §5.2), so that its clients work
 * unchanged. Which of them happen here is told in docs/webhooks.md.
 */
export const WEBHOOK_EVENTS = [
  'email.sent',
  'email.scheduled',
  'email.delivered',
  'email.delivery_delayed',
  'email.complained',
  'email.bounced',
  'email.opened',
  'email.clicked',
  'email.received',
  'email.failed',
  'email.suppressed',
  'contact.created',
  'contact.updated',
  'contact.deleted',
  'contact.topics.updated',
  'domain.created',
  'domain.updated',
  'domain.deleted',
  'suppression.added',
  'suppression.removed',
  'topic.created',
  'topic.updated',
  'topic.deleted',
  'inbox.created',
  'inbox.updated',
  'inbox.deleted',
  'inbox.thread.created',
  'inbox.thread.folder.updated',
  'inbox.thread.assigned',
  'inbox.thread.unassigned',
  'inbox.thread.labels.updated',
  'inbox.email.received',
  'inbox.email.sent',
  'inbox.draft.created',
  'inbox.draft.updated',
  'inbox.draft.sent',
  'inbox.draft.deleted',
] as const

/** What `ping` sends; no endpoint subscribes to it. */
export const PING = 'webhook.ping'

export type WebhookStatus = 'enabled' | 'disabled'

/** Shares of failed requests in 24 hours from which on an endpoint is failing, and from which on it is broken. */
const FAILING = 0.05
const BROKEN = 0.5

/** How an endpoint does: for the dashboard and the command line alike. */
export interface WebhookHealth {
  state: 'disabled' | 'broken' | 'failing' | 'healthy' | 'idle' | 'untried'
  /** `healthy`, `failing 33%` */
  words: string
}

/** Judges an endpoint by its requests of the last 24 hours, and by the newest one of all. */
export function webhookHealth(facts: {
  enabled: boolean
  /** The newest request failed. */
  failing: boolean
  /** A request succeeded at some time. */
  succeeded: boolean
  /** Requests of the last 24 hours, and how many of them succeeded. */
  count: number
  taken: number
}): WebhookHealth {
  const { enabled, failing, succeeded, count, taken } = facts
  if (!enabled) return { state: 'disabled', words: 'disabled' }
  const share = count === 0 ? 0 : (count - taken) / count
  // Never 100% while something succeeded.
  const percent = taken === 0 ? 100 : Math.min(99, Math.round(share * 100))
  if (share >= FAILING) return { state: share >= BROKEN ? 'broken' : 'failing', words: `failing ${percent}%` }
  if (failing) return { state: count === 0 ? 'broken' : 'failing', words: 'failing' }
  if (count > 0) return { state: 'healthy', words: 'healthy' }
  return succeeded
    ? { state: 'idle', words: 'no recent requests' }
    : { state: 'untried', words: 'no requests yet' }
}

/** How a delivery to an endpoint stands: `attempting` while a request is under way, `pending` while it waits for its next one. */
export const WEBHOOK_DELIVERY_STATES = ['pending', 'attempting', 'success', 'failed'] as const
export type WebhookDeliveryState = (typeof WEBHOOK_DELIVERY_STATES)[number]

const second = 1000
const minute = 60 * second
const hour = 60 * minute

/** Pauses after each failed attempt, in milliseconds; after the last comes one more attempt, and then no other. */
export const RETRY_PAUSES = [
  5 * second,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  10 * hour,
] as const

/** The share of a pause that chance may add: receivers that failed together are not asked again together. */
const JITTER = 0.2

/**
 * When a delivery whose attempt number `attempts` (from 1) failed is tried again; null when it is given up.
 * @param dice a number in [0, 1)
 */
export function nextWebhookAttempt(attempts: number, now: number, dice: number): number | null {
  const pause = RETRY_PAUSES[attempts - 1]
  return pause === undefined ? null : now + Math.round(pause * (1 + JITTER * dice))
}
