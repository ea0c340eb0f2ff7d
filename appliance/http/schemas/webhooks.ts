import { Type, type Static } from 'typebox'
import { PING, WEBHOOK_DELIVERY_STATES, WEBHOOK_EVENTS } from '../../mail/webhook.ts'
import { Deleted, Id, kind, listOf, literals, Nullable, Timestamp } from './shared.ts'

const reference = { object: kind('webhook'), id: Id }
const endpoint = Type.String({
  description:
    'Where events are posted to: an https:// URL on a public host, or one in `webhooks.allow_networks`.',
  examples: ['https://app.example.com/webhooks'],
})
const events = Type.Array(literals(WEBHOOK_EVENTS), { description: 'The event types that it is told of.' })
const given = Type.Array(Type.String(), { description: 'The event types that it is told of: one or more.' })
const status = literals(['enabled', 'disabled'], {
  description: 'disabled: nothing is sent; what waits stays, and what happens meanwhile can be replayed.',
})
const secret = Type.String({
  description: 'What its requests are signed with.',
  examples: ['whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'],
})

/** POST /webhooks */
export const CreateWebhook = Type.Object(
  { endpoint, events: given },
  { description: 'An endpoint to be told.' },
)
export const WebhookCreated = Type.Object(
  { ...reference, signing_secret: secret },
  { description: 'The webhook with its signing secret.' },
)
/** PATCH /webhooks/:id */
export const UpdateWebhook = Type.Object(
  {
    endpoint: Type.Optional(Nullable(endpoint, { description: 'Another URL; null: as it is.' })),
    events: Type.Optional(Nullable(given, { description: 'Other event types; null: as they are.' })),
    status: Type.Optional(
      Nullable(status, { description: 'enabled or disabled: nothing is sent; null: as it is.' }),
    ),
  },
  { description: 'What changes; the rest stays.' },
)
export const WebhookRef = Type.Object(reference, { description: 'The webhook.' })

const health = {
  last_success_at: Nullable(Timestamp, { description: 'The last answer with a 2xx, to the minute.' }),
  failing_since: Nullable(Timestamp, { description: 'The first failure since the last success.' }),
  disabled_at: Nullable(Timestamp, { description: 'When it was disabled.' }),
  disabled_reason: Nullable(Type.String(), {
    description: 'Why: by a person, or because it failed for five days.',
  }),
}
const setting = { id: Id, endpoint, events, status, created_at: Timestamp, ...health }
const milliseconds = (description: string) => Nullable(Type.Integer(), { description })
const requests = Type.Object(
  {
    count: Type.Integer({ description: 'How many there were; of more than 1000, the newest 1000 count.' }),
    taken: Type.Integer({ description: 'Those that were answered with a 2xx.' }),
    median_ms: milliseconds('How long half of the answers took at most; null when nothing was answered.'),
    p95_ms: milliseconds('How long 95 of 100 answers took at most; null when nothing was answered.'),
  },
  { description: 'Requests of the last 24 hours, test events among them.' },
)
export type WebhookRequests = Static<typeof requests>
const summary = { ...setting, requests_last_day: requests }

/** A webhook as the audit log writes it down: how it is set, not how it does. */
export const WebhookSetting = Type.Object(setting, { description: 'An endpoint that is told of events.' })
export type WebhookSetting = Static<typeof WebhookSetting>

/** An element of GET /webhooks. */
export const WebhookSummary = Type.Object(summary, { description: 'An endpoint that is told of events.' })
export type WebhookSummary = Static<typeof WebhookSummary>
export const WebhookList = listOf(WebhookSummary, 'webhooks')
/** GET /webhooks/:id */
export const Webhook = Type.Object(
  {
    object: kind('webhook'),
    ...summary,
    signing_secret: secret,
    old_secret_until: Nullable(Timestamp, { description: 'Until when the secret before it signs too.' }),
  },
  { description: 'An endpoint that is told of events.' },
)
export type Webhook = Static<typeof Webhook>
/** DELETE /webhooks/:id */
export const WebhookDeleted = Type.Object(
  { ...reference, deleted: Deleted },
  { description: 'The webhook that was removed.' },
)

const MessageId = Type.String({
  description: 'What the receiver sees as `svix-id`, the same in every attempt.',
  examples: ['msg_019aa7b1c1f07c6e8f6a3d1b2c4e5f60'],
})
const about = Type.Object(
  {
    object: literals(['email', 'domain', 'suppression'], { description: 'What kind of thing.' }),
    id: Type.String({ description: 'Its id.' }),
    names: Type.Array(Type.String(), {
      description:
        'As the endpoint is told: recipients of the email, the name of the domain, the address on the suppression list.',
    }),
    subject: Nullable(Type.String(), { description: 'Of the email; null where it is none.' }),
    erased: Type.Boolean({
      description:
        "A person's data was erased here: a pseudonym stands for the address, the subject is empty.",
    }),
    removed: Type.Boolean({ description: 'The email is no longer kept; only its events are.' }),
  },
  { description: 'What an event is about.' },
)
export type WebhookAbout = Static<typeof about>
const lastRequest = Type.Object(
  {
    sent_at: Timestamp,
    http_status_code: Type.Integer({ description: 'Status of the answer; 0 when there was none.' }),
    duration_ms: Type.Integer({ description: 'From the beginning to the end of the answer.' }),
    error: Nullable(Type.String(), { description: 'Why it failed; null for a success.' }),
  },
  { description: 'The newest request.' },
)
const event = {
  id: MessageId,
  type: literals([...WEBHOOK_EVENTS, PING], { description: 'What happened.' }),
  created_at: Timestamp,
  status: literals(WEBHOOK_DELIVERY_STATES, {
    description:
      'pending: it waits for its next attempt · attempting: a request is under way · failed: given up.',
  }),
  attempts: Type.Integer({ description: 'Attempts since it was made or replayed.' }),
  next_attempt_at: Nullable(Timestamp, { description: 'When it is tried next; null when it is over.' }),
  email_id: Nullable(Type.String(), { description: 'The email that it is about.' }),
  about: Nullable(about, {
    description: 'What it is about; null for a test event. Not at the hosted service.',
  }),
  last_request: Nullable(lastRequest, {
    description:
      'The newest request, also of before a replay; null before the first. Not at the hosted service.',
  }),
}
/** An element of GET /webhooks/:id/events. */
export const WebhookEventSummary = Type.Object(event, { description: 'An event on its way to the endpoint.' })
export type WebhookEventSummary = Static<typeof WebhookEventSummary>
export const WebhookEventList = listOf(WebhookEventSummary, 'events')
/** GET /webhooks/:id/events/:event_id */
export const WebhookEvent = Type.Object(
  {
    object: kind('webhook_event'),
    ...event,
    payload: Type.Object(
      {
        type: Type.String({ description: 'What happened.' }),
        created_at: Type.String({ description: 'When, in ISO 8601.' }),
        data: Type.Record(Type.String(), Type.Unknown(), {
          description: 'About what, see docs/webhooks.md.',
        }),
      },
      { description: 'What is posted. It is sent as compact JSON.' },
    ),
  },
  { description: 'An event on its way to the endpoint.' },
)
export type WebhookEvent = Static<typeof WebhookEvent>
/** POST /webhooks/:id/events/:event_id/replay */
export const WebhookEventRef = Type.Object(
  { object: kind('webhook_event'), id: MessageId },
  { description: 'The event, which is sent again.' },
)

const fields = (what: string) => Type.Record(Type.String(), Type.String(), { description: what })
/** An element of GET /webhooks/:id/events/:event_id/attempts and GET /webhooks/:id/attempts. */
export const WebhookAttempt = Type.Object(
  {
    id: Id,
    event_id: MessageId,
    http_status_code: Type.Integer({ description: 'Status of the answer; 0 when there was none.' }),
    response: Type.String({ description: 'The first 4 KiB of the answer.' }),
    sent_at: Timestamp,
    duration_ms: Type.Integer({ description: 'From the beginning to the end of the answer.' }),
    error: Nullable(Type.String(), { description: 'Why it failed; null for a success.' }),
    ip: Nullable(Type.String(), { description: 'The address of the endpoint.' }),
    request_headers: fields('The header fields that were sent.'),
    response_headers: fields('The header fields of the answer.'),
  },
  { description: 'A request to the endpoint, and its answer.' },
)
export type WebhookAttempt = Static<typeof WebhookAttempt>
export const WebhookAttemptList = listOf(WebhookAttempt, 'attempts')

/** POST /webhooks/:id/replay */
export const ReplayWebhook = Type.Object(
  {
    event_ids: Type.Optional(
      Type.Array(MessageId, {
        description:
          'These events, from 1 to 100 of them, whatever became of them: all are sent again, or none where one is not of this webhook.',
      }),
    ),
    since: Type.Optional(
      Type.String({
        description: 'In place of `event_ids`: events from this instant on, ISO 8601.',
        examples: ['2026-11-20T08:00:00Z'],
      }),
    ),
    until: Type.Optional(
      Type.String({ description: 'Events before this instant. Without it, all until now.' }),
    ),
    only: Type.Optional(
      literals(['undelivered', 'all'], {
        description: 'undelivered (default): what the endpoint did not take · all: also what it took.',
      }),
    ),
  },
  { description: 'Events one by one, or a range of time.' },
)
export const WebhookReplayed = Type.Object(
  { ...reference, events: Type.Integer({ description: 'How many events are sent because of it.' }) },
  { description: 'What is sent again.' },
)
/** POST /webhooks/:id/ping */
export const WebhookPinged = Type.Object(
  {
    object: kind('webhook_event'),
    id: MessageId,
    status: literals(['success', 'failed'], { description: 'Whether the endpoint took it.' }),
    attempt: WebhookAttempt,
  },
  { description: 'What came of a test event.' },
)
export type WebhookPinged = Static<typeof WebhookPinged>
