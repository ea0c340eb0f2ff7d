import { Type, type Static } from 'typebox'
import { BOUNCE_CATEGORIES } from '../mail/bounce.ts'
import { EMAIL_EVENTS } from '../mail/event.ts'
import { LANE_REASONS, WAIT_REASONS, PAST_WAIT_REASONS } from '../mail/waiting.ts'
import { DELIVERY_STATES, SUPPRESSION_ORIGINS } from '../mail/verdict.ts'
import { operationsIn } from './operation.ts'
import { presentReturnedMessage, ReturnedMessage } from './received.ts'
import { byId } from './parameters.ts'
import { RecipientCounts, RecipientStatus } from './emails.ts'
import {
  array,
  arrayOfObjects,
  boolean,
  integer,
  kind,
  literals,
  Nullable,
  object,
  optionalOrNull,
  optionalText,
  string,
} from './schemas.ts'
import { Id, Timestamp } from './shared.ts'
import { countStatuses, deriveRecipientStatus } from '../mail/recipient-status.ts'
import type { Explanation } from '../shaping/shaping.ts'
import type {
  Attempt as StoredAttempt,
  Delivery as StoredDelivery,
  EmailEvent as StoredEmailEvent,
  EmailHistory,
  EmailSummary,
  ReturnedMessage as StoredReturnedMessage,
} from '../storage/storage.ts'
import { timestamp, timestampOrNull } from './timestamp.ts'
import { listWaits } from './waits.ts'

const Reply = object('An SMTP reply.', {
  code: integer('The reply code, 220 to 599.'),
  enhanced: Nullable(Type.String(), 'The enhanced status code, such as `5.1.1`; null: none.'),
  text: string('The text, without the codes.'),
})

/** The reason for a delivery's state (mail/verdict.ts). */
export const Cause = object('Why a delivery has its state.', {
  phase: string('The SMTP phase of the decision.'),
  host: Nullable(Type.String(), 'The mail server; null: none was contacted.'),
  ip: Nullable(Type.String(), 'The IP address of the mail server; null: none was contacted.'),
  reply: Nullable(Reply, 'The SMTP reply; null: none.'),
  status: Type.Optional(string('The enhanced status code that this server assigned.')),
  category: Type.Optional(literals(BOUNCE_CATEGORIES, 'The category of the failure (docs/bounces.md).')),
  note: string('One sentence of explanation.'),
  advice: Type.Optional(
    object('What the operator can do about it, and where.', {
      text: string('What to do.'),
      link: Type.Optional(string('Link for the action or more information.')),
    }),
  ),
  by: Type.Optional(
    literals(
      ['operator', 'sender', 'recipient', 'erasure'],
      'Who ended the delivery, if it was not an attempt.',
    ),
  ),
  origin: Type.Optional(literals(SUPPRESSION_ORIGINS, 'The origin of the suppression.')),
})
export type Cause = Static<typeof Cause>

const number = (description: string) => Type.Optional(integer(description))
const text = (description: string) => Type.Optional(string(description))

const laneReason = {
  key: literals(LANE_REASONS, 'The kind of decision. It determines which other fields are set.'),
  reply: Type.Optional(Reply),
  says: text('Meaning of the reply.'),
  note: text('Explanation.'),
  text: text('A sentence saved by an earlier version.'),
  connections: number('Connections allowed.'),
  rate: number('Messages per minute allowed.'),
  attempts: number('Consecutive attempts without a connection.'),
  messages: number('Daily limit of the warm-up.'),
  sent: number('Messages sent that day.'),
  complained: number('Messages refused that day.'),
}
/** The last decision about a lane, as fields (mail/waiting.ts). */
export const LaneDecision = object('The last decision about a lane.', {
  ...laneReason,
  because: optionalOrNull(
    object('The earlier decision.', laneReason),
    'The decision that caused it; null: none.',
  ),
})

/** Why a delivery is still queued, as fields (mail/waiting.ts). */
export const WaitingReason = object('Why the delivery is queued, as data.', {
  key: literals(WAIT_REASONS, 'The kind of reason. It determines which other fields are set.'),
  attempt: number('The number of the next attempt.'),
  note: text('Explanation.'),
  reply: optionalOrNull(Reply, 'The SMTP reply; null: none.'),
  provider: text('The name of the mailbox provider.'),
  source: optionalText('The sending IP; null: the system chooses.'),
  rate: number('Messages per minute allowed.'),
  connections: number('Connections allowed.'),
  sent: number('Messages of the warm-up sent today.'),
  share: number('Daily limit of the warm-up.'),
  because: optionalOrNull(LaneDecision, 'Why the lane is limited; null: no decision yet.'),
})

export const Delivery = object('The delivery to one recipient.', {
  id: Id,
  email_id: Id,
  recipient: string('The recipient address.'),
  field: literals(['to', 'cc', 'bcc'], 'The field of the email that has the address.'),
  pool: string('The pool of its sending IPs.'),
  provider: string('The mailbox provider of its domain, or `?` and the domain if it was not looked up yet.'),
  state: literals(DELIVERY_STATES, 'State of the delivery.'),
  status: RecipientStatus,
  attempts: integer('Number of attempts.'),
  created_at: Timestamp,
  updated_at: Timestamp,
  next_attempt_at: Nullable(Timestamp, 'Time of the next attempt; null: none.'),
  expires_at: Nullable(Timestamp, 'When it expires; null: it is final.'),
  cause: Nullable(Cause, 'Why it has this state; null: no attempt yet.'),
  waiting: Nullable(
    Type.Object({
      until: Nullable(Timestamp, 'When it continues; null: unknown.'),
      why: string('Why it is queued, as text.'),
      reason: Type.Optional(WaitingReason),
    }),
    'Why it is queued; null: not queued.',
  ),
})
export type Delivery = Static<typeof Delivery>

/** A command and reply of an attempt (mail/transcript.ts); times in milliseconds from its start. */
export const Step = object('One step of an attempt.', {
  name: string('The step, such as `connect`, `ehlo`, `rcpt`.'),
  host: Nullable(Type.String(), 'The mail server; null: none.'),
  ip: Nullable(Type.String(), 'Its IP address; null: none.'),
  sent: Nullable(Type.String(), 'The command that was sent; null: none.'),
  reply: Nullable(Reply, 'The reply; null: none, or not waited for.'),
  note: Nullable(Type.String(), 'A note by this server.'),
  at: Type.Number({ description: 'Start, in milliseconds since the start of the attempt.' }),
  ms: Type.Number({ description: 'Duration in milliseconds.' }),
})
export type Step = Static<typeof Step>

export const Attempt = object('One delivery attempt, with its SMTP transcript.', {
  id: Id,
  delivery_ids: array(Id, 'The deliveries in this attempt.'),
  started_at: Timestamp,
  ended_at: Timestamp,
  host: Nullable(Type.String(), 'The last mail server; null: none.'),
  ip: Nullable(Type.String(), 'Its IP address; null: none.'),
  tls: Nullable(
    Type.Object({
      version: string('TLS version.'),
      cipher: string('The cipher suite.'),
      group: Type.Optional(string('Key exchange group.')),
      verified: boolean('Whether the certificate is valid for the host.'),
      error: Nullable(Type.String(), 'Why it is not valid; null: it is.'),
      by: Type.Optional(
        literals(
          ['pkix', 'dane'],
          'What the certificate was verified against: trusted authorities, or TLSA records.',
        ),
      ),
      chainValid: Type.Optional(boolean('Whether a trusted authority signed the certificate.')),
      nameMatched: Type.Optional(boolean('Whether the certificate covers the host.')),
      subject: string('Subject of the certificate.'),
      issuer: string('Issuer of the certificate.'),
      validFrom: Type.Optional(string('Start of validity.')),
      validTo: string('End of validity.'),
      fingerprint: Type.Optional(string('SHA-256 fingerprint of the certificate.')),
    }),
    'The TLS connection; null: no TLS.',
  ),
  source: Nullable(Type.String(), 'The sending IP, or `auto` if the system chose; null: nothing was sent.'),
  signatures: arrayOfObjects('The DKIM signatures of the message.', {
    domain: string('The signing domain, `d=`.'),
    selector: string('The selector, `s=`.'),
    algorithm: literals(['rsa-sha256', 'ed25519-sha256'], 'The algorithm, `a=`.'),
  }),
  steps: array(Step, 'The steps, in order.'),
})
export type Attempt = Static<typeof Attempt>

export const Visit = object('An open or a click.', {
  link: Nullable(Type.String(), 'URL of the link; null for an open.'),
  ip: Nullable(Type.String(), 'IP address; null if addresses are not stored.'),
  user_agent: string('The User-Agent.'),
  robot: boolean('Whether it was a bot. Bots are counted separately and not sent to webhooks.'),
  seen_by: Nullable(
    Type.String(),
    "The bot, or the proxy in front of the person's mail client; null: neither.",
  ),
})
export type Visit = Static<typeof Visit>

export const EmailEvent = object('An event of an email.', {
  id: Id,
  type: literals(EMAIL_EVENTS, 'Type of the event.'),
  created_at: Timestamp,
  delivery_id: Nullable(Id, 'The delivery; null: the event concerns the whole email.'),
  recipient: Nullable(Type.String(), 'The recipient; null: the event concerns the whole email.'),
  cause: Nullable(Cause, 'The cause; null: none.'),
  visit: Nullable(Visit, 'Details of an open or click; null for other events.'),
})
export type EmailEvent = Static<typeof EmailEvent>

export const Wait = object('A wait of one second or more before an attempt.', {
  delivery_id: Id,
  from: Timestamp,
  until: Timestamp,
  reason: literals(PAST_WAIT_REASONS, 'The reason, for programs.'),
  why: string('The reason, as text that completes “Waited 35 s: …”.'),
})
export type Wait = Static<typeof Wait>

/** GET /emails/:id/timeline: the complete history of an email. Not part of the hosted API. */
export const Timeline = object('The history of an email.', {
  object: kind('timeline'),
  email_id: Id,
  accepted_at: Timestamp,
  recipients: RecipientCounts,
  deliveries: array(Delivery, 'One per recipient.'),
  attempts: array(Attempt, 'All attempts, oldest first.'),
  events: array(EmailEvent, 'All events, oldest first.'),
  waits: array(Wait, 'Waits before attempts, oldest first for each delivery.'),
  returned: array(ReturnedMessage, 'Messages to the return path, newest first.'),
})
export type Timeline = Static<typeof Timeline>

const operation = operationsIn('Emails')

export const getTimeline = operation('GET /emails/:id/timeline', {
  summary: 'Get the timeline of an email',
  description:
    'Every recipient with its delivery state, every attempt with its SMTP transcript, and every event. Not part of the hosted API.',
  params: byId,
  response: { 200: Timeline },
})

/** Formats a recipient with the state of its delivery and the reason. */
export function presentDelivery(
  delivery: StoredDelivery,
  waiting: Explanation | null = null,
  complained = false,
): Delivery {
  const { state, attempts, cause } = delivery
  const scheduled = delivery.scheduledAt !== null
  return {
    id: delivery.id,
    email_id: delivery.emailId,
    recipient: delivery.recipient,
    field: delivery.field,
    pool: delivery.pool,
    provider: delivery.provider,
    state,
    status: deriveRecipientStatus({ state, attempts, heard: cause !== null, scheduled, complained }),
    attempts,
    created_at: timestamp(delivery.createdAt),
    updated_at: timestamp(delivery.updatedAt),
    next_attempt_at: timestampOrNull(delivery.dueAt),
    expires_at: timestampOrNull(delivery.expiresAt),
    cause,
    waiting: waiting && {
      until: timestampOrNull(waiting.until),
      why: waiting.why,
      reason: waiting.reason,
    },
  }
}

function presentAttempt(attempt: StoredAttempt): Attempt {
  return {
    id: attempt.id,
    delivery_ids: attempt.deliveryIds,
    started_at: timestamp(attempt.startedAt),
    ended_at: timestamp(attempt.endedAt),
    host: attempt.transcript.host,
    ip: attempt.transcript.ip,
    tls: attempt.transcript.tls,
    source: attempt.transcript.source ?? null,
    signatures: attempt.transcript.signatures ?? [],
    steps: attempt.transcript.steps,
  }
}

function presentEvent(event: StoredEmailEvent): EmailEvent {
  return {
    id: event.id,
    type: event.type,
    created_at: timestamp(event.createdAt),
    delivery_id: event.deliveryId,
    recipient: event.data.recipient ?? null,
    cause: event.data.cause ?? null,
    visit: presentVisit(event.data),
  }
}

/** Formats data about who opened the email or clicked a link; returns null for other events. */
function presentVisit({ open, click, robot, seenBy }: StoredEmailEvent['data']): Visit | null {
  const who = click ?? open
  if (!who) return null
  return {
    link: click?.link ?? null,
    ip: who.ipAddress === '' ? null : who.ipAddress,
    user_agent: who.userAgent,
    robot: robot === true,
    seen_by: seenBy ?? null,
  }
}

/** Formats the response of GET /emails/:id/timeline. */
export function presentTimeline(
  email: Pick<EmailSummary, 'id' | 'createdAt'>,
  history: EmailHistory,
  waiting: readonly (Explanation | null)[] = [],
  returned: readonly StoredReturnedMessage[] = [],
): Timeline {
  const complaints = history.events.filter(({ type }) => type === 'email.complained')
  const complained = new Set(complaints.map(({ deliveryId }) => deliveryId))
  const deliveries = history.deliveries.map((one, at) =>
    presentDelivery(one, waiting[at], complained.has(one.id)),
  )
  return {
    object: 'timeline',
    email_id: email.id,
    accepted_at: timestamp(email.createdAt),
    recipients: countStatuses(deliveries.map(({ status }) => status)),
    deliveries,
    attempts: history.attempts.map(presentAttempt),
    events: history.events.map(presentEvent),
    returned: returned.map(presentReturnedMessage),
    waits: listWaits(history).map(({ deliveryId, from, until, reason, why }) => ({
      delivery_id: deliveryId,
      from: timestamp(from),
      until: timestamp(until),
      reason,
      why,
    })),
  }
}
