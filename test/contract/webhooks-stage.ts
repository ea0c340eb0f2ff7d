import { expect } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import type {
  NewWebhookDelivery,
  Storage,
  Webhook,
  WebhookAttempt,
  WebhookLeaseArgs,
} from '../../appliance/storage/storage.ts'
import { DAY, makeTeam, MINUTE, T0 } from './fixtures.ts'

/** Returns an enabled webhook. Not stored. */
export const newWebhook = (teamId: string, more: Partial<Webhook> = {}): Webhook => ({
  id: newId(T0),
  teamId,
  endpoint: 'https://app.example/hook',
  events: ['email.sent'],
  broadcasts: true,
  status: 'enabled',
  secret: 'whsec_AAAA',
  oldSecret: null,
  createdAt: T0,
  succeededAt: null,
  failingSince: null,
  disabled: null,
  ...more,
})

/** Stores a webhook of a new team. */
export async function stored(storage: Storage, more: Partial<Webhook> = {}): Promise<Webhook> {
  const { team } = await makeTeam(storage)
  const webhook = newWebhook(team.id, more)
  expect(await storage.createWebhook({ webhook, most: 2 }, T0)).toBe(true)
  return webhook
}

/** Returns a delivery of an event to a webhook. Not stored. */
export const delivery = (
  { id: webhookId, teamId }: Webhook,
  more: Partial<NewWebhookDelivery> = {},
): NewWebhookDelivery => {
  const id = `msg_${newId(T0).replaceAll('-', '')}`
  const about = { eventId: newId(T0), emailId: null, type: 'email.sent', payload: '{"ü":1}', createdAt: T0 }
  return { id, webhookId, teamId, ...about, ...more }
}

/** Stores webhook deliveries as a fan-out does. */
export async function due(storage: Storage, deliveries: NewWebhookDelivery[], now = T0): Promise<void> {
  const { to } = await storage.readOutbox({ limit: 1000 }, now)
  const { from } = await storage.readOutbox({ limit: 1000 }, now)
  expect(await storage.fanOutWebhooks({ from, to, deliveries }, now)).toBe(true)
}

/** Returns arguments of a lease for everything that is due. */
export const lease = (more: Partial<WebhookLeaseArgs> = {}): WebhookLeaseArgs => ({
  limit: 100,
  each: 10,
  failing: 1,
  failures: 3,
  inFlight: {},
  pauses: [30_000, 5 * MINUTE],
  ...more,
})

/** Returns an attempt of a delivery, which failed if there is an error. Not stored. */
export const attemptOf = (
  { id: deliveryId, webhookId, teamId }: NewWebhookDelivery,
  error: string | null,
): WebhookAttempt => ({
  id: newId(T0),
  deliveryId,
  webhookId,
  teamId,
  sentAt: T0,
  durationMs: 7,
  ip: '192.0.2.1',
  error,
  status: error === null ? 200 : 500,
  requestHeaders: { a: 'b' },
  responseHeaders: {},
  response: 'ok',
})

/** Disables a webhook that has failed for five days. */
export const disable = { failingBefore: T0 - 5 * DAY, leastFailures: 2, reason: 'dead' }
