/** The events sent to a webhook, and the requests that carried them. */
import { Type, type Static } from 'typebox'
import { isPseudonym } from '../mail/erasure.ts'
import { refuse } from '../mail/refusals.ts'
import { PING_EVENT, WEBHOOK_DELIVERY_STATES, WEBHOOK_EVENTS } from '../mail/webhook.ts'
import type {
  NewWebhookDelivery,
  WebhookAttempt as StoredAttempt,
  WebhookDelivery as StoredDelivery,
} from '../storage/storage.ts'
import { operationsIn } from './operation.ts'
import {
  byId,
  choice,
  limit,
  page,
  path,
  pathId,
  pathText,
  patternParameter,
  query,
  text,
} from './parameters.ts'
import { array, boolean, integer, kind, literals, Nullable, object, record, string } from './schemas.ts'
import { Id, listOf, Timestamp } from './shared.ts'
import { timestamp, timestampOrNull } from './timestamp.ts'
import type { WebhookPayload } from './webhook-payloads.ts'

const MessageId = string('The `svix-id` header, the same for every attempt.', {
  examples: ['msg_019aa7b1c1f07c6e8f6a3d1b2c4e5f60'],
})
const about = object('The object of an event.', {
  object: literals(['email', 'received_email', 'domain', 'suppression', 'alert'], 'Kind of object.'),
  id: string('Its id.'),
  names: array(
    Type.String(),
    'As in the payload: recipients of the email, name of the domain, suppressed address, or title of the alert.',
  ),
  subject: Nullable(Type.String(), 'Subject of the email; null: not an email.'),
  erased: boolean('Personal data was erased: the address is a pseudonym, and the subject is empty.'),
  removed: boolean('The email is no longer stored; only its events are.'),
})
export type WebhookEventObject = Static<typeof about>
const lastRequest = object('The latest request.', {
  sent_at: Timestamp,
  http_status_code: integer('Status of the response; 0: no response.'),
  duration_ms: integer('Duration of the request and response.'),
  error: Nullable(Type.String(), 'Why it failed; null: it succeeded.'),
})
const event = {
  id: MessageId,
  type: literals([...WEBHOOK_EVENTS, PING_EVENT], 'Type of the event.'),
  created_at: Timestamp,
  status: literals(
    WEBHOOK_DELIVERY_STATES,
    'pending: waiting for the next attempt · attempting: request in progress · failed: no more attempts.',
  ),
  attempts: integer('Attempts since it was created or replayed.'),
  next_attempt_at: Nullable(Timestamp, 'Time of the next attempt; null: final.'),
  email_id: Nullable(Type.String(), 'The email that the event concerns.'),
  about: Nullable(about, 'What the event concerns; null: a test event.'),
  last_request: Nullable(
    lastRequest,
    'The latest request, including those before a replay; null: none yet. Not part of the hosted API.',
  ),
}
export const WebhookEventSummary = object('A webhook delivery.', event)
export type WebhookEventSummary = Static<typeof WebhookEventSummary>
export const WebhookEventList = listOf(WebhookEventSummary, 'events')
export const WebhookEvent = object('A webhook delivery.', {
  object: kind('webhook_event'),
  ...event,
  payload: object('The payload. It is sent as compact JSON.', {
    type: string('Type of the event.'),
    created_at: string('Time of the event, in ISO 8601.'),
    data: record(Type.Unknown(), 'Details of the event, see docs/webhooks.md.'),
  }),
})
export type WebhookEvent = Static<typeof WebhookEvent>
export const WebhookEventRef = object('The event that is sent again.', {
  object: kind('webhook_event'),
  id: MessageId,
})

const fields = (what: string) => record(Type.String(), what)
export const WebhookAttempt = object('A request to a webhook, and its response.', {
  id: Id,
  event_id: MessageId,
  http_status_code: integer('Status of the response; 0: no response.'),
  response: string('The first 4 KiB of the response.'),
  sent_at: Timestamp,
  duration_ms: integer('Duration of the request and response.'),
  error: Nullable(Type.String(), 'Why it failed; null: it succeeded.'),
  ip: Nullable(Type.String(), 'The IP address of the endpoint.'),
  request_headers: fields('The request headers.'),
  response_headers: fields('The response headers.'),
})
export type WebhookAttempt = Static<typeof WebhookAttempt>
export const WebhookAttemptList = listOf(WebhookAttempt, 'attempts')

export const ReplayWebhook = object('Selected events, or a time range.', {
  event_ids: Type.Optional(
    array(
      MessageId,
      '1 to 100 event ids. All of them are sent again, whatever their state; none are sent if one does not belong to this webhook.',
    ),
  ),
  since: Type.Optional(
    string('Instead of `event_ids`: events at or after this time, ISO 8601.', {
      examples: ['2026-11-20T08:00:00Z'],
    }),
  ),
  until: Type.Optional(string('Events before this time. Default: now.')),
  only: Type.Optional(
    literals(
      ['undelivered', 'all'],
      'undelivered (default): events that were not delivered successfully · all: also successful ones.',
    ),
  ),
})
export const WebhookReplayed = object('The events that are sent again.', {
  object: kind('webhook'),
  id: Id,
  events: integer('Number of events that will be sent.'),
})
export const WebhookPinged = object('The result of a test event.', {
  object: kind('webhook_event'),
  id: MessageId,
  status: literals(['success', 'failed'], 'Whether the webhook returned a 2xx status.'),
  attempt: WebhookAttempt,
})
export type WebhookPinged = Static<typeof WebhookPinged>

const operation = operationsIn('Webhooks')
const MESSAGE = /^msg_[0-9a-f]{32}$/
const eventParams = path({
  id: pathId,
  event_id: pathText('The event id, `msg_…`.', (given) => {
    if (!MESSAGE.test(given)) throw refuse('not_found', { resource: 'Webhook event' })
    return given
  }),
})
const cursor = (description: string) => patternParameter(MESSAGE, 'an event id, msg_…', string(description))

export const pingWebhook = operation('POST /webhooks/:id/ping', {
  summary: 'Send a test event',
  description:
    'Sends one `webhook.ping` now and returns the result, after at most 15 seconds. Not part of the hosted API.',
  params: byId,
  response: { 200: WebhookPinged },
})
export const replayWebhook = operation('POST /webhooks/:id/replay', {
  summary: 'Replay selected events or a time range',
  description:
    'With `event_ids`: sends these events again with the same ids. With `since`: sends all events in the range that the webhook subscribes to, including events it was never sent, from before it existed or while it was disabled. Not part of the hosted API.',
  params: byId,
  body: ReplayWebhook,
  response: { 200: WebhookReplayed },
})
export const listWebhookEvents = operation('GET /webhooks/:id/events', {
  summary: 'List the webhook deliveries of a webhook',
  params: byId,
  querystring: query({
    limit,
    after: cursor('The page after this id, exclusive.'),
    before: cursor('The page before this id, exclusive.'),
    status: choice(WEBHOOK_DELIVERY_STATES, 'Only webhook deliveries in this state.'),
    type: text(string('Only events of this type.')),
  }),
  response: { 200: WebhookEventList },
})
export const getWebhookEvent = operation('GET /webhooks/:id/events/:event_id', {
  summary: 'Get a webhook delivery with its payload',
  params: eventParams,
  response: { 200: WebhookEvent },
})
export const replayWebhookEvent = operation('POST /webhooks/:id/events/:event_id/replay', {
  summary: 'Replay an event',
  description: 'Uses the same id and keeps all earlier attempts.',
  params: eventParams,
  response: { 200: WebhookEventRef },
})
export const listWebhookEventAttempts = operation('GET /webhooks/:id/events/:event_id/attempts', {
  summary: 'List the attempts of a webhook delivery',
  params: eventParams,
  querystring: query(page),
  response: { 200: WebhookAttemptList },
})
export const listWebhookAttempts = operation('GET /webhooks/:id/attempts', {
  summary: 'List all requests to a webhook',
  description: 'Includes the responses. Not part of the hosted API.',
  params: byId,
  querystring: query(page),
  response: { 200: WebhookAttemptList },
})

/** Formats an element of GET /webhooks/:id/events. */
export function presentWebhookDeliverySummary(one: StoredDelivery): WebhookEventSummary {
  return {
    id: one.id,
    type: one.type as WebhookEventSummary['type'],
    created_at: timestamp(one.createdAt),
    status: one.status,
    attempts: one.attempts,
    next_attempt_at: timestampOrNull(one.status === 'pending' ? one.dueAt : null),
    email_id: one.emailId,
    about: presentAbout(one),
    last_request: one.last && {
      sent_at: timestamp(one.last.sentAt),
      http_status_code: one.last.status ?? 0,
      duration_ms: one.last.durationMs,
      error: one.last.error,
    },
  }
}

/** The properties of a payload that identify the event's subject. The event type determines which of them exist. */
interface Told {
  email_id?: string
  to?: string[]
  subject?: string
  id?: string
  name?: string
  email?: string
  title?: string
}

/** Returns the subject of an event, read from its payload because erasures change payloads, too. */
function presentAbout({ type, payload, emailKept }: StoredDelivery): WebhookEventObject | null {
  const { data = {} } = JSON.parse(payload) as { data?: Told }
  const of = (object: WebhookEventObject['object'], id = '', names: (string | undefined)[] = []) => {
    const known = names.filter((name) => name !== undefined)
    return { object, id, names: known, subject: null, erased: known.some(isPseudonym), removed: false }
  }
  switch (type.split('.', 1)[0]) {
    case 'email':
      // The flag only concerns sent emails, and this one was received.
      if (type === 'email.received')
        return { ...of('received_email', data.email_id, data.to), subject: data.subject ?? '' }
      return { ...of('email', data.email_id, data.to), subject: data.subject ?? '', removed: !emailKept }
    case 'domain':
      return of('domain', data.id, [data.name])
    case 'suppression':
      return of('suppression', data.id, [data.email])
    case 'alert':
      return of('alert', data.id, [data.title])
    default:
      return null
  }
}

/** Formats the response of GET /webhooks/:id/events/:event_id. */
export function presentWebhookDelivery(one: StoredDelivery): WebhookEvent {
  const payload = JSON.parse(one.payload) as WebhookPayload
  return { object: 'webhook_event', ...presentWebhookDeliverySummary(one), payload }
}

/** Formats an element of a list of attempts. */
export function presentWebhookAttempt(attempt: StoredAttempt): WebhookAttempt {
  return {
    id: attempt.id,
    event_id: attempt.deliveryId,
    http_status_code: attempt.status ?? 0,
    response: attempt.response,
    sent_at: timestamp(attempt.sentAt),
    duration_ms: attempt.durationMs,
    error: attempt.error,
    ip: attempt.ip,
    request_headers: attempt.requestHeaders,
    response_headers: attempt.responseHeaders,
  }
}

/** Formats the response to a ping. */
export function presentPingResult(args: {
  delivery: NewWebhookDelivery
  attempt: StoredAttempt
}): WebhookPinged {
  const { delivery, attempt } = args
  return {
    object: 'webhook_event',
    id: delivery.id,
    status: attempt.error === null ? 'success' : 'failed',
    attempt: presentWebhookAttempt(attempt),
  }
}
