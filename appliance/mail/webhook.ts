/** Shared types of webhooks: the events, and the retry schedule. */

/**
 * Every event type that an endpoint can subscribe to: those of the hosted service (reference: wire format §5.2), so
 * that its clients work unchanged, and those about alerts. docs/webhooks.md lists which ones this server sends.
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
  'alert.opened',
  'alert.closed',
] as const

/** The event that `ping` sends; endpoints can't subscribe to it. */
export const PING_EVENT = 'webhook.ping'

export type WebhookStatus = 'enabled' | 'disabled'

/** Shares of failed requests in 24 hours from which an endpoint counts as failing, and as broken. */
const FAILING = 0.05
const BROKEN = 0.5

/** The health of an endpoint, for the dashboard and the command line. */
export interface WebhookHealth {
  state: 'disabled' | 'broken' | 'failing' | 'healthy' | 'idle' | 'untried'
  /** Short description: `healthy`, `failing 33%`. */
  words: string
}

/** Determines the health of an endpoint from its requests of the last 24 hours and its newest request. */
export function computeWebhookHealth(facts: {
  enabled: boolean
  /** Whether the newest request failed. */
  failing: boolean
  /** Whether any request has ever succeeded. */
  succeeded: boolean
  /** Number of requests in the last 24 hours, and how many of them succeeded. */
  count: number
  taken: number
}): WebhookHealth {
  const { enabled, failing, succeeded, count, taken } = facts
  if (!enabled) return { state: 'disabled', words: 'disabled' }
  const share = count === 0 ? 0 : (count - taken) / count
  // Don't show 100% if any request succeeded.
  const percent = taken === 0 ? 100 : Math.min(99, Math.round(share * 100))
  if (share >= FAILING) return { state: share >= BROKEN ? 'broken' : 'failing', words: `failing ${percent}%` }
  if (failing) return { state: count === 0 ? 'broken' : 'failing', words: 'failing' }
  if (count > 0) return { state: 'healthy', words: 'healthy' }
  return succeeded
    ? { state: 'idle', words: 'no recent requests' }
    : { state: 'untried', words: 'no requests yet' }
}

/** The state of a webhook delivery: `attempting` during a request, `pending` until the next one. */
export const WEBHOOK_DELIVERY_STATES = ['pending', 'attempting', 'success', 'failed'] as const
export type WebhookDeliveryState = (typeof WEBHOOK_DELIVERY_STATES)[number]

const second = 1000
const minute = 60 * second
const hour = 60 * minute

/** Delays after each failed attempt, in milliseconds. The attempt after the last one is final. */
export const WEBHOOK_RETRY_DELAYS = [
  5 * second,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  10 * hour,
] as const

/** Random share added to a delay, so that endpoints that failed together aren't retried together. */
const JITTER = 0.2

/**
 * Decides when to retry after attempt number `attempts` (from 1) failed; null after the last one.
 * @param dice a number in [0, 1)
 */
export function computeNextWebhookAttempt(attempts: number, now: number, dice: number): number | null {
  const pause = WEBHOOK_RETRY_DELAYS[attempts - 1]
  return pause === undefined ? null : now + Math.round(pause * (1 + JITTER * dice))
}
