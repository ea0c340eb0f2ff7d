import Check from '@lucide/svelte/icons/check'
import Clock from '@lucide/svelte/icons/clock'
import Pause from '@lucide/svelte/icons/pause'
import Send from '@lucide/svelte/icons/send'
import TriangleAlert from '@lucide/svelte/icons/triangle-alert'
import type { WebhookEventSummary, WebhookSummary } from '../../../appliance/http/schemas/webhooks.ts'
import type { Look } from './status.ts'

/** How an endpoint does, in one glance. */
export function ofWebhook(
  webhook: Pick<WebhookSummary, 'status' | 'failing_since' | 'last_success_at'>,
): Look {
  if (webhook.status === 'disabled') return { word: 'disabled', tone: 'slate', icon: Pause }
  if (webhook.failing_since !== null) return { word: 'failing', tone: 'red', icon: TriangleAlert }
  if (webhook.last_success_at === null) return { word: 'not tried yet', tone: 'slate', icon: Clock }
  return { word: 'works', tone: 'green', icon: Check }
}

/** How an event on its way to an endpoint stands. */
export const WEBHOOK_EVENT: Record<WebhookEventSummary['status'], Look> = {
  pending: { word: 'waits', tone: 'amber', icon: Clock },
  attempting: { word: 'being sent', tone: 'blue', icon: Send },
  success: { word: 'taken', tone: 'green', icon: Check },
  failed: { word: 'given up', tone: 'red', icon: TriangleAlert },
}

/** The type of a test event, which is not sent again. */
export const PING = 'webhook.ping'

/** The events that happen here: what a new webhook can choose from. */
export const TOLD_EVENTS = [
  'email.scheduled',
  'email.sent',
  'email.delivered',
  'email.delivery_delayed',
  'email.bounced',
  'email.failed',
  'email.suppressed',
  'email.complained',
  'email.opened',
  'email.clicked',
  'domain.created',
  'domain.updated',
  'domain.deleted',
  'suppression.added',
  'suppression.removed',
] as const

/** By what the log of a webhook is narrowed: the status in the address, and its label. */
export const WEBHOOK_EVENT_STATES = [
  ['', 'All'],
  ['pending', 'Waiting'],
  ['failed', 'Given up'],
  ['success', 'Taken'],
] as const
