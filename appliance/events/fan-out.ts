/** Decides which endpoints receive which events. Pure except for new IDs. */
import { newId } from '../mail/ids.ts'
import type { NewWebhookDelivery, OutboxEvent, PublicWebhook } from '../storage/storage.ts'
import { presentWebhookEvent } from '../api/webhook-payloads.ts'

/** Creates the id of a delivery, as receivers see it; sorts by time. */
export const newDeliveryId = (now: number): string => `msg_${newId(now).replaceAll('-', '')}`

/**
 * Whether an event is sent at all. Excludes reports, which no one sent through the API, and opens and clicks by bots,
 * from which an app would conclude that someone has read the email.
 */
const isTold = ({ email, data }: OutboxEvent): boolean => email?.via !== 'report' && data.robot !== true

/** Whether a webhook receives an event; its age doesn't matter. */
const isHeard = ({ type, email }: OutboxEvent, { events, broadcasts }: PublicWebhook): boolean =>
  events.includes(type) && (broadcasts || (email?.broadcastId ?? null) === null)

/** Creates the deliveries of these events to subscribed endpoints, in order. Skips events older than the endpoint. */
export function createDeliveries(
  events: readonly OutboxEvent[],
  webhooks: readonly PublicWebhook[],
  now: number,
): NewWebhookDelivery[] {
  const byTeam = Map.groupBy(webhooks, ({ teamId }) => teamId)
  return events.filter(isTold).flatMap((event) => {
    const listeners = (byTeam.get(event.teamId) ?? []).filter(
      (webhook) => webhook.createdAt <= event.createdAt && isHeard(event, webhook),
    )
    return deliveriesTo(event, listeners, now)
  })
}

/** Creates the deliveries of a replay: all that the endpoint subscribes to, including events older than it. */
export function createReplays(
  events: readonly OutboxEvent[],
  webhook: PublicWebhook,
  now: number,
): NewWebhookDelivery[] {
  const heard = events.filter((event) => isTold(event) && isHeard(event, webhook))
  return heard.flatMap((event) => deliveriesTo(event, [webhook], now))
}

function deliveriesTo(
  event: OutboxEvent,
  webhooks: readonly PublicWebhook[],
  now: number,
): NewWebhookDelivery[] {
  if (webhooks.length === 0) return []
  const payload = JSON.stringify(presentWebhookEvent(event))
  const { id: eventId, teamId, type, createdAt } = event
  const emailId = event.emailId ?? event.data.received?.emailId ?? null
  return webhooks.map(({ id }) => ({
    id: newDeliveryId(now),
    webhookId: id,
    teamId,
    eventId,
    emailId,
    type,
    payload,
    createdAt,
  }))
}
