import { Type, type Static } from 'typebox'
import { PING, WEBHOOK_DELIVERY_STATES, WEBHOOK_EVENTS } from '../../mail/webhook.ts'
import { Deleted, Id, kind, listOf, literals, Nullable, Timestamp } from './shared.ts'

const reference = { object: kind('webhook'), id: Id }
const endpoint = Type.String({
  description:
    'The URL that receives events: https:// on a public host, or on a host in `webhooks.allow_networks`.',
  examples: ['https://app.example.com/webhooks'],
})
const events = Type.Array(literals(WEBHOOK_EVENTS), { description: 'Event types to send.' })
const given = Type.Array(Type.String(), { description: 'Event types to send: one or more.' })
const status = literals(['enabled', 'disabled'], {
  description:
    'disabled: no events are sent. Pending events are kept, and events that happen meanwhile can be replayed.',
})
const secret = Type.String({
  description: 'The secret that signs its requests.',
  examples: ['whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'],
})

/** POST /webhooks */
export const CreateWebhook = Type.Object({ endpoint, events: given }, { description: 'A webhook to create.' })
export const WebhookCreated = Type.Object(
  { ...reference, signing_secret: secret },
  { description: 'The webhook and its signing secret.' },
)
/** PATCH /webhooks/:id */
export const UpdateWebhook = Type.Object(
  {
    endpoint: Type.Optional(Nullable(endpoint, { description: 'A new URL; null: unchanged.' })),
    events: Type.Optional(Nullable(given, { description: 'New event types; null: unchanged.' })),
    status: Type.Optional(
      Nullable(status, { description: 'enabled, or disabled: no events are sent; null: unchanged.' }),
    ),
  },
  { description: 'The settings to change. Others stay the same.' },
)
export const WebhookRef = Type.Object(reference, { description: 'The webhook.' })

const health = {
  last_success_at: Nullable(Timestamp, {
    description: 'Time of the last 2xx response, accurate to the minute.',
  }),
  failing_since: Nullable(Timestamp, { description: 'Time of the first failure since the last success.' }),
  disabled_at: Nullable(Timestamp, { description: 'When it was disabled.' }),
  disabled_reason: Nullable(Type.String(), {
    description: 'Who disabled it: a user, or the server after five days of failures.',
  }),
}
const setting = { id: Id, endpoint, events, status, created_at: Timestamp, ...health }
const milliseconds = (description: string) => Nullable(Type.Integer(), { description })
const requests = Type.Object(
  {
    count: Type.Integer({
      description: 'Number of requests; if more than 1000, only the newest 1000 are counted.',
    }),
    taken: Type.Integer({ description: 'Requests with a 2xx response.' }),
    median_ms: milliseconds('Median response time; null: no responses.'),
    p95_ms: milliseconds('95th percentile of the response time; null: no responses.'),
  },
  { description: 'Requests of the last 24 hours, including test events.' },
)
export type WebhookRequests = Static<typeof requests>
const summary = { ...setting, requests_last_day: requests }

/** A webhook as the audit log writes it down: how it is set, not how it does. */
export const WebhookSetting = Type.Object(setting, { description: 'A webhook.' })
export type WebhookSetting = Static<typeof WebhookSetting>

/** An element of GET /webhooks. */
export const WebhookSummary = Type.Object(summary, { description: 'A webhook.' })
export type WebhookSummary = Static<typeof WebhookSummary>
export const WebhookList = listOf(WebhookSummary, 'webhooks')
/** GET /webhooks/:id */
export const Webhook = Type.Object(
  {
    object: kind('webhook'),
    ...summary,
    signing_secret: secret,
    old_secret_until: Nullable(Timestamp, { description: 'Until when the previous secret also signs.' }),
  },
  { description: 'A webhook.' },
)
export type Webhook = Static<typeof Webhook>
/** DELETE /webhooks/:id */
export const WebhookDeleted = Type.Object(
  { ...reference, deleted: Deleted },
  { description: 'The removed webhook.' },
)

const MessageId = Type.String({
  description: 'The `svix-id` header, the same for every attempt.',
  examples: ['msg_019aa7b1c1f07c6e8f6a3d1b2c4e5f60'],
})
const about = Type.Object(
  {
    object: literals(['email', 'domain', 'suppression'], { description: 'Kind of object.' }),
    id: Type.String({ description: 'Its id.' }),
    names: Type.Array(Type.String(), {
      description: 'As in the payload: recipients of the email, name of the domain, or suppressed address.',
    }),
    subject: Nullable(Type.String(), { description: 'Subject of the email; null: not an email.' }),
    erased: Type.Boolean({
      description: 'Personal data was erased: the address is a pseudonym, and the subject is empty.',
    }),
    removed: Type.Boolean({ description: 'The email is no longer stored; only its events are.' }),
  },
  { description: 'The object of an event.' },
)
export type WebhookAbout = Static<typeof about>
const lastRequest = Type.Object(
  {
    sent_at: Timestamp,
    http_status_code: Type.Integer({ description: 'Status of the response; 0: no response.' }),
    duration_ms: Type.Integer({ description: 'Duration of the request and response.' }),
    error: Nullable(Type.String(), { description: 'Why it failed; null: it succeeded.' }),
  },
  { description: 'The latest request.' },
)
const event = {
  id: MessageId,
  type: literals([...WEBHOOK_EVENTS, PING], { description: 'Type of the event.' }),
  created_at: Timestamp,
  status: literals(WEBHOOK_DELIVERY_STATES, {
    description:
      'pending: waiting for the next attempt · attempting: request in progress · failed: no more attempts.',
  }),
  attempts: Type.Integer({ description: 'Attempts since it was created or replayed.' }),
  next_attempt_at: Nullable(Timestamp, { description: 'Time of the next attempt; null: final.' }),
  email_id: Nullable(Type.String(), { description: 'The email that the event concerns.' }),
  about: Nullable(about, {
    description: 'What the event concerns; null: a test event.',
  }),
  last_request: Nullable(lastRequest, {
    description:
      'The latest request, including those before a replay; null: none yet. Not part of the hosted API.',
  }),
}
/** An element of GET /webhooks/:id/events. */
export const WebhookEventSummary = Type.Object(event, { description: 'A webhook delivery.' })
export type WebhookEventSummary = Static<typeof WebhookEventSummary>
export const WebhookEventList = listOf(WebhookEventSummary, 'events')
/** GET /webhooks/:id/events/:event_id */
export const WebhookEvent = Type.Object(
  {
    object: kind('webhook_event'),
    ...event,
    payload: Type.Object(
      {
        type: Type.String({ description: 'Type of the event.' }),
        created_at: Type.String({ description: 'Time of the event, in ISO 8601.' }),
        data: Type.Record(Type.String(), Type.Unknown(), {
          description: 'Details of the event, see docs/webhooks.md.',
        }),
      },
      { description: 'The payload. It is sent as compact JSON.' },
    ),
  },
  { description: 'A webhook delivery.' },
)
export type WebhookEvent = Static<typeof WebhookEvent>
/** POST /webhooks/:id/events/:event_id/replay */
export const WebhookEventRef = Type.Object(
  { object: kind('webhook_event'), id: MessageId },
  { description: 'The event that is sent again.' },
)

const fields = (what: string) => Type.Record(Type.String(), Type.String(), { description: what })
/** An element of GET /webhooks/:id/events/:event_id/attempts and GET /webhooks/:id/attempts. */
export const WebhookAttempt = Type.Object(
  {
    id: Id,
    event_id: MessageId,
    http_status_code: Type.Integer({ description: 'Status of the response; 0: no response.' }),
    response: Type.String({ description: 'The first 4 KiB of the response.' }),
    sent_at: Timestamp,
    duration_ms: Type.Integer({ description: 'Duration of the request and response.' }),
    error: Nullable(Type.String(), { description: 'Why it failed; null: it succeeded.' }),
    ip: Nullable(Type.String(), { description: 'The IP address of the endpoint.' }),
    request_headers: fields('The request headers.'),
    response_headers: fields('The response headers.'),
  },
  { description: 'A request to a webhook, and its response.' },
)
export type WebhookAttempt = Static<typeof WebhookAttempt>
export const WebhookAttemptList = listOf(WebhookAttempt, 'attempts')

/** POST /webhooks/:id/replay */
export const ReplayWebhook = Type.Object(
  {
    event_ids: Type.Optional(
      Type.Array(MessageId, {
        description:
          '1 to 100 event ids. All of them are sent again, whatever their state; none are sent if one does not belong to this webhook.',
      }),
    ),
    since: Type.Optional(
      Type.String({
        description: 'Instead of `event_ids`: events at or after this time, ISO 8601.',
        examples: ['2026-11-20T08:00:00Z'],
      }),
    ),
    until: Type.Optional(Type.String({ description: 'Events before this time. Default: now.' })),
    only: Type.Optional(
      literals(['undelivered', 'all'], {
        description:
          'undelivered (default): events that were not delivered successfully · all: also successful ones.',
      }),
    ),
  },
  { description: 'Selected events, or a time range.' },
)
export const WebhookReplayed = Type.Object(
  { ...reference, events: Type.Integer({ description: 'Number of events that will be sent.' }) },
  { description: 'The events that are sent again.' },
)
/** POST /webhooks/:id/ping */
export const WebhookPinged = Type.Object(
  {
    object: kind('webhook_event'),
    id: MessageId,
    status: literals(['success', 'failed'], { description: 'Whether the webhook returned a 2xx status.' }),
    attempt: WebhookAttempt,
  },
  { description: 'The result of a test event.' },
)
export type WebhookPinged = Static<typeof WebhookPinged>
