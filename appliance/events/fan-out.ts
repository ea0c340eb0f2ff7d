/** Decides who is told of what. Pure but for new ids. */
import { newId } from '../mail/ids.ts'
import type { NewWebhookDelivery, OutboxEvent, WebhookListener } from '../storage/storage.ts'
import { presentWebhookEvent } from '../api/webhook-payloads.ts'

/** A new id of a delivery, as receivers see it; sorts by time. */
export const newDeliveryId = (now: number): string => `msg_${newId(now).replaceAll('-', '')}`

/**
 * Whether anybody hears of an event at all. Nobody sent a report, so nobody hears of its way; and what machines open and click
 * would tell an app that somebody has read the email.
 */
const isTold = ({ email, data }: OutboxEvent): boolean => email?.via !== 'report' && data.robot !== true

/** The deliveries of these events to those who listen, in the order of the events. What happened before an endpoint was made is not told. */
export function deliveriesFor(
  events: readonly OutboxEvent[],
  webhooks: readonly WebhookListener[],
  now: number,
): NewWebhookDelivery[] {
  const byTeam = Map.groupBy(webhooks, ({ teamId }) => teamId)
  return events.filter(isTold).flatMap((event) => {
    const listeners = (byTeam.get(event.teamId) ?? []).filter(
      ({ events: types, createdAt }) => createdAt <= event.createdAt && types.includes(event.type),
    )
    return deliveriesTo(event, listeners, now)
  })
}

/** The deliveries that a replay makes: whatever the endpoint listens to, also from before it was made. */
export function replaysFor(
  events: readonly OutboxEvent[],
  webhook: WebhookListener,
  now: number,
): NewWebhookDelivery[] {
  const heard = events.filter((event) => isTold(event) && webhook.events.includes(event.type))
  return heard.flatMap((event) => deliveriesTo(event, [webhook], now))
}

function deliveriesTo(
  event: OutboxEvent,
  webhooks: readonly WebhookListener[],
  now: number,
): NewWebhookDelivery[] {
  if (webhooks.length === 0) return []
  const payload = JSON.stringify(presentWebhookEvent(event))
  const { id: eventId, teamId, type, createdAt } = event
  const emailId = event.emailId ?? event.data.received?.emailId ?? null
  return webhooks.map(({ id }) => ({
    ...{ id: newDeliveryId(now), webhookId: id, teamId, eventId, emailId, type, payload, createdAt },
  }))
}
