/** Webhooks: their settings and health. Sent events: webhook-events.ts. */
import { Type, type Static } from 'typebox'
import { WEBHOOK_EVENTS } from '../mail/webhook.ts'
import type { Webhook as StoredWebhook, WebhookRequests as StoredRequests } from '../storage/storage.ts'
import { operationsIn } from './operation.ts'
import { byId, query, shortPage } from './parameters.ts'
import {
  array,
  boolean,
  integer,
  kind,
  literals,
  Nullable,
  object,
  optionalOrNull,
  string,
} from './schemas.ts'
import { Deleted, Id, listOf, Timestamp } from './shared.ts'
import { timestamp, timestampOrNull } from './timestamp.ts'

const reference = { object: kind('webhook'), id: Id }
const endpoint = string(
  'The URL that receives events: https:// on a public host, or on a host in `webhooks.allow_networks`.',
  { examples: ['https://app.example.com/webhooks'] },
)
const events = array(literals(WEBHOOK_EVENTS), 'Event types to send.')
const given = array(Type.String(), 'Event types to send: one or more.')
const broadcasts = boolean(
  'Whether to send events of broadcast emails to it. A broadcast to many contacts has several events for each. Not part of the hosted API.',
)
const status = literals(
  ['enabled', 'disabled'],
  'disabled: no events are sent. Pending events are kept, and events that happen meanwhile can be replayed.',
)
const secret = string('The secret that signs its requests.', {
  examples: ['whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'],
})

export const CreateWebhook = object('A webhook to create.', {
  endpoint,
  events: given,
  broadcasts: optionalOrNull(
    Type.Boolean(),
    'false: no events of emails of broadcasts are sent to it. Default: true.',
  ),
})
export const WebhookCreated = object('The webhook and its signing secret.', {
  ...reference,
  signing_secret: secret,
})
export const UpdateWebhook = object('The settings to change. Others stay the same.', {
  endpoint: optionalOrNull(endpoint, 'A new URL; null: unchanged.'),
  events: optionalOrNull(given, 'New event types; null: unchanged.'),
  broadcasts: optionalOrNull(
    Type.Boolean(),
    'Whether to send events of broadcast emails to it; null: unchanged.',
  ),
  status: optionalOrNull(status, 'enabled, or disabled: no events are sent; null: unchanged.'),
})
export const WebhookRef = object('The webhook.', reference)

const health = {
  last_success_at: Nullable(Timestamp, 'Time of the last 2xx response, accurate to the minute.'),
  failing_since: Nullable(Timestamp, 'Time of the first failure since the last success.'),
  disabled_at: Nullable(Timestamp, 'When it was disabled.'),
  disabled_reason: Nullable(
    Type.String(),
    'Who disabled it: a user, or the server after five days of failures.',
  ),
}
const setting = { id: Id, endpoint, events, broadcasts, status, created_at: Timestamp, ...health }
const milliseconds = (description: string) => Nullable(Type.Integer(), description)
const requests = object('Requests of the last 24 hours, including test events.', {
  count: integer('Number of requests; if more than 1000, only the newest 1000 are counted.'),
  taken: integer('Requests with a 2xx response.'),
  median_ms: milliseconds('Median response time; null: no responses.'),
  p95_ms: milliseconds('95th percentile of the response time; null: no responses.'),
})
export type WebhookRequests = Static<typeof requests>
const summary = { ...setting, requests_last_day: requests }

/** A webhook for the audit log: its settings without its health. */
export const WebhookSetting = object('A webhook.', setting)
export type WebhookSetting = Static<typeof WebhookSetting>

export const WebhookSummary = object('A webhook.', summary)
export type WebhookSummary = Static<typeof WebhookSummary>
export const WebhookList = listOf(WebhookSummary, 'webhooks')
export const Webhook = object('A webhook.', {
  object: kind('webhook'),
  ...summary,
  signing_secret: secret,
  old_secret_until: Nullable(Timestamp, 'Until when the previous secret also signs.'),
})
export type Webhook = Static<typeof Webhook>
export const WebhookDeleted = object('The removed webhook.', { ...reference, deleted: Deleted })

const operation = operationsIn('Webhooks')

export const createWebhook = operation('POST /webhooks', {
  summary: 'Create a webhook',
  description: 'Returns the secret that signs its requests. A team can have at most 50.',
  body: CreateWebhook,
  response: { 201: WebhookCreated },
})
export const listWebhooks = operation('GET /webhooks', {
  summary: 'List webhooks',
  querystring: query(shortPage),
  response: { 200: WebhookList },
})
export const getWebhook = operation('GET /webhooks/:id', {
  summary: 'Get a webhook with its secret',
  params: byId,
  response: { 200: Webhook },
})
export const updateWebhook = operation('PATCH /webhooks/:id', {
  summary: 'Change, enable or disable a webhook',
  params: byId,
  body: UpdateWebhook,
  response: { 200: WebhookRef },
})
export const deleteWebhook = operation('DELETE /webhooks/:id', {
  summary: 'Remove a webhook',
  description: 'It receives no more events. Its log is deleted.',
  params: byId,
  response: { 200: WebhookDeleted },
})
export const rotateWebhookSecret = operation('POST /webhooks/:id/signing-secret/rotate', {
  summary: 'Rotate the signing secret of a webhook',
  description: 'For 24 hours, requests carry two signatures: of the new and the old secret.',
  params: byId,
  response: { 200: WebhookCreated },
})

/** Formats the settings of a webhook. */
export function presentWebhookSetting(webhook: StoredWebhook): WebhookSetting {
  const { id, endpoint, events, broadcasts, status, createdAt, succeededAt, failingSince, disabled } = webhook
  return {
    id,
    endpoint,
    status,
    created_at: timestamp(createdAt),
    events: events as WebhookSetting['events'],
    broadcasts,
    last_success_at: timestampOrNull(succeededAt),
    failing_since: timestampOrNull(failingSince),
    disabled_at: timestampOrNull(disabled?.at ?? null),
    disabled_reason: disabled?.reason ?? null,
  }
}

/** Formats an element of GET /webhooks. The hosted API lacks the health of the endpoint. */
export function presentWebhookSummary(webhook: StoredWebhook, requests: StoredRequests): WebhookSummary {
  const { count, taken, medianMs: median_ms, p95Ms: p95_ms } = requests
  return { ...presentWebhookSetting(webhook), requests_last_day: { count, taken, median_ms, p95_ms } }
}

/** Formats the response of GET /webhooks/:id. */
export function presentWebhook(webhook: StoredWebhook, requests: StoredRequests, now: number): Webhook {
  const { secret, oldSecret } = webhook
  const until = oldSecret && oldSecret.until > now ? oldSecret.until : null
  return {
    object: 'webhook',
    ...presentWebhookSummary(webhook, requests),
    signing_secret: secret,
    old_secret_until: timestampOrNull(until),
  }
}
