import Check from '@lucide/svelte/icons/check'
import Clock from '@lucide/svelte/icons/clock'
import Pause from '@lucide/svelte/icons/pause'
import Send from '@lucide/svelte/icons/send'
import TriangleAlert from '@lucide/svelte/icons/triangle-alert'
import type { WebhookEventSummary } from '../../../appliance/api/webhook-events.ts'
import type { WebhookSummary } from '../../../appliance/api/webhooks.ts'
import { computeWebhookHealth, type WebhookHealth } from '../../../appliance/mail/webhook.ts'
import type { StatusBadge } from './status.ts'

const HEALTH: Record<WebhookHealth['state'], Omit<StatusBadge, 'word'>> = {
  disabled: { tone: 'slate', icon: Pause },
  broken: { tone: 'red', icon: TriangleAlert },
  failing: { tone: 'amber', icon: TriangleAlert },
  healthy: { tone: 'green', icon: Check },
  idle: { tone: 'slate', icon: Clock },
  untried: { tone: 'slate', icon: Clock },
}

/** Returns the label of a webhook's health. */
export function getWebhookBadge(
  webhook: Pick<WebhookSummary, 'status' | 'failing_since' | 'last_success_at' | 'requests_last_day'>,
): StatusBadge {
  const { state, words } = computeWebhookHealth({
    enabled: webhook.status === 'enabled',
    failing: webhook.failing_since !== null,
    succeeded: webhook.last_success_at !== null,
    ...webhook.requests_last_day,
  })
  return { word: words, ...HEALTH[state] }
}

/** Labels of webhook delivery statuses. */
export const WEBHOOK_EVENT_BADGES: Record<WebhookEventSummary['status'], StatusBadge> = {
  pending: { word: 'pending', tone: 'amber', icon: Clock },
  attempting: { word: 'sending', tone: 'blue', icon: Send },
  success: { word: 'succeeded', tone: 'green', icon: Check },
  failed: { word: 'failed', tone: 'red', icon: TriangleAlert },
}

/** The type of test events, which can't be replayed. */
export const PING = 'webhook.ping'

/** Values and labels of the status filter of the webhook log. */
export const WEBHOOK_EVENT_CHOICES = [
  ['', 'All'],
  ['pending', 'Pending'],
  ['failed', 'Failed'],
  ['success', 'Succeeded'],
] as const
