import { Type, type Static } from 'typebox'
import { BOUNCE_CATEGORIES } from '../mail/bounce.ts'
import { EMAIL_EVENTS } from '../mail/event.ts'
import { LANE_REASONS, WAIT_REASONS, PAST_WAIT_REASONS } from '../mail/waiting.ts'
import { DELIVERY_STATES, SUPPRESSION_ORIGINS } from '../mail/verdict.ts'
import { operationsIn } from './operation.ts'
import { presentReturnedMessage, ReturnedMessage } from './received.ts'
import { path, pathId } from './parameters.ts'
import { RecipientCounts, RecipientStatus } from './emails.ts'
import { Id, kind, literals, Nullable, Timestamp } from './shared.ts'
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

const Reply = Type.Object(
  {
    code: Type.Integer({ description: 'The reply code, 220 to 599.' }),
    enhanced: Nullable(Type.String(), {
      description: 'The enhanced status code, such as `5.1.1`; null: none.',
    }),
    text: Type.String({ description: 'The text, without the codes.' }),
  },
  { description: 'An SMTP reply.' },
)

/** The reason for a delivery's state (mail/verdict.ts). */
export const Cause = Type.Object(
  {
    phase: Type.String({ description: 'The SMTP phase of the decision.' }),
    host: Nullable(Type.String(), { description: 'The mail server; null: none was contacted.' }),
    ip: Nullable(Type.String(), {
      description: 'The IP address of the mail server; null: none was contacted.',
    }),
    reply: Nullable(Reply, { description: 'The SMTP reply; null: none.' }),
    status: Type.Optional(
      Type.String({ description: 'The enhanced status code that this server assigned.' }),
    ),
    category: Type.Optional(
      literals(BOUNCE_CATEGORIES, { description: 'The category of the failure (docs/bounces.md).' }),
    ),
    note: Type.String({ description: 'One sentence of explanation.' }),
    advice: Type.Optional(
      Type.Object(
        {
          text: Type.String({ description: 'What to do.' }),
          link: Type.Optional(Type.String({ description: 'Link for the action or more information.' })),
        },
        { description: 'What the operator can do about it, and where.' },
      ),
    ),
    by: Type.Optional(
      literals(['operator', 'sender', 'recipient', 'erasure'], {
        description: 'Who ended the delivery, if it was not an attempt.',
      }),
    ),
    origin: Type.Optional(literals(SUPPRESSION_ORIGINS, { description: 'The origin of the suppression.' })),
  },
  { description: 'Why a delivery has its state.' },
)
export type Cause = Static<typeof Cause>

const number = (description: string) => Type.Optional(Type.Integer({ description }))
const text = (description: string) => Type.Optional(Type.String({ description }))

const laneReason = {
  key: literals(LANE_REASONS, {
    description: 'The kind of decision. It determines which other fields are set.',
  }),
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
export const LaneDecision = Type.Object(
  {
    ...laneReason,
    because: Type.Optional(
      Nullable(Type.Object(laneReason, { description: 'The earlier decision.' }), {
        description: 'The decision that caused it; null: none.',
      }),
    ),
  },
  { description: 'The last decision about a lane.' },
)

/** Why a delivery is still queued, as fields (mail/waiting.ts). */
export const WaitingReason = Type.Object(
  {
    key: literals(WAIT_REASONS, {
      description: 'The kind of reason. It determines which other fields are set.',
    }),
    attempt: number('The number of the next attempt.'),
    note: text('Explanation.'),
    reply: Type.Optional(Nullable(Reply, { description: 'The SMTP reply; null: none.' })),
    provider: text('The name of the mailbox provider.'),
    source: Type.Optional(
      Nullable(Type.String(), { description: 'The sending IP; null: the system chooses.' }),
    ),
    rate: number('Messages per minute allowed.'),
    connections: number('Connections allowed.'),
    sent: number('Messages of the warm-up sent today.'),
    share: number('Daily limit of the warm-up.'),
    because: Type.Optional(
      Nullable(LaneDecision, { description: 'Why the lane is limited; null: no decision yet.' }),
    ),
  },
  { description: 'Why the delivery is queued, as data.' },
)

export const Delivery = Type.Object(
  {
    id: Id,
    email_id: Id,
    recipient: Type.String({ description: 'The recipient address.' }),
    field: literals(['to', 'cc', 'bcc'], { description: 'The field of the email that has the address.' }),
    pool: Type.String({ description: 'The pool of its sending IPs.' }),
    provider: Type.String({
      description: 'The mailbox provider of its domain, or `?` and the domain if it was not looked up yet.',
    }),
    state: literals(DELIVERY_STATES, { description: 'State of the delivery.' }),
    status: RecipientStatus,
    attempts: Type.Integer({ description: 'Number of attempts.' }),
    created_at: Timestamp,
    updated_at: Timestamp,
    next_attempt_at: Nullable(Timestamp, { description: 'Time of the next attempt; null: none.' }),
    expires_at: Nullable(Timestamp, { description: 'When it expires; null: it is final.' }),
    cause: Nullable(Cause, { description: 'Why it has this state; null: no attempt yet.' }),
    waiting: Nullable(
      Type.Object({
        until: Nullable(Timestamp, { description: 'When it continues; null: unknown.' }),
        why: Type.String({ description: 'Why it is queued, as text.' }),
        reason: Type.Optional(WaitingReason),
      }),
      { description: 'Why it is queued; null: not queued.' },
    ),
  },
  { description: 'The delivery to one recipient.' },
)
export type Delivery = Static<typeof Delivery>

/** A command and reply of an attempt (mail/transcript.ts); times in milliseconds from its start. */
export const Step = Type.Object(
  {
    name: Type.String({ description: 'The step, such as `connect`, `ehlo`, `rcpt`.' }),
    host: Nullable(Type.String(), { description: 'The mail server; null: none.' }),
    ip: Nullable(Type.String(), { description: 'Its IP address; null: none.' }),
    sent: Nullable(Type.String(), { description: 'The command that was sent; null: none.' }),
    reply: Nullable(Reply, { description: 'The reply; null: none, or not waited for.' }),
    note: Nullable(Type.String(), { description: 'A note by this server.' }),
    at: Type.Number({ description: 'Start, in milliseconds since the start of the attempt.' }),
    ms: Type.Number({ description: 'Duration in milliseconds.' }),
  },
  { description: 'One step of an attempt.' },
)
export type Step = Static<typeof Step>

export const Attempt = Type.Object(
  {
    id: Id,
    delivery_ids: Type.Array(Id, { description: 'The deliveries in this attempt.' }),
    started_at: Timestamp,
    ended_at: Timestamp,
    host: Nullable(Type.String(), { description: 'The last mail server; null: none.' }),
    ip: Nullable(Type.String(), { description: 'Its IP address; null: none.' }),
    tls: Nullable(
      Type.Object({
        version: Type.String({ description: 'TLS version.' }),
        cipher: Type.String({ description: 'The cipher suite.' }),
        group: Type.Optional(Type.String({ description: 'Key exchange group.' })),
        verified: Type.Boolean({ description: 'Whether the certificate is valid for the host.' }),
        error: Nullable(Type.String(), { description: 'Why it is not valid; null: it is.' }),
        by: Type.Optional(
          literals(['pkix', 'dane'], {
            description: 'What the certificate was verified against: trusted authorities, or TLSA records.',
          }),
        ),
        chainValid: Type.Optional(
          Type.Boolean({ description: 'Whether a trusted authority signed the certificate.' }),
        ),
        nameMatched: Type.Optional(Type.Boolean({ description: 'Whether the certificate covers the host.' })),
        subject: Type.String({ description: 'Subject of the certificate.' }),
        issuer: Type.String({ description: 'Issuer of the certificate.' }),
        validFrom: Type.Optional(Type.String({ description: 'Start of validity.' })),
        validTo: Type.String({ description: 'End of validity.' }),
        fingerprint: Type.Optional(Type.String({ description: 'SHA-256 fingerprint of the certificate.' })),
      }),
      { description: 'The TLS connection; null: no TLS.' },
    ),
    source: Nullable(Type.String(), {
      description: 'The sending IP, or `auto` if the system chose; null: nothing was sent.',
    }),
    signatures: Type.Array(
      Type.Object({
        domain: Type.String({ description: 'The signing domain, `d=`.' }),
        selector: Type.String({ description: 'The selector, `s=`.' }),
        algorithm: literals(['rsa-sha256', 'ed25519-sha256'], { description: 'The algorithm, `a=`.' }),
      }),
      { description: 'The DKIM signatures of the message.' },
    ),
    steps: Type.Array(Step, { description: 'The steps, in order.' }),
  },
  { description: 'One delivery attempt, with its SMTP transcript.' },
)
export type Attempt = Static<typeof Attempt>

export const Visit = Type.Object(
  {
    link: Nullable(Type.String(), { description: 'URL of the link; null for an open.' }),
    ip: Nullable(Type.String(), { description: 'IP address; null if addresses are not stored.' }),
    user_agent: Type.String({ description: 'The User-Agent.' }),
    robot: Type.Boolean({
      description: 'Whether it was a bot. Bots are counted separately and not sent to webhooks.',
    }),
    seen_by: Nullable(Type.String(), {
      description: "The bot, or the proxy in front of the person's mail client; null: neither.",
    }),
  },
  { description: 'An open or a click.' },
)
export type Visit = Static<typeof Visit>

export const EmailEvent = Type.Object(
  {
    id: Id,
    type: literals(EMAIL_EVENTS, { description: 'Type of the event.' }),
    created_at: Timestamp,
    delivery_id: Nullable(Id, { description: 'The delivery; null: the event concerns the whole email.' }),
    recipient: Nullable(Type.String(), {
      description: 'The recipient; null: the event concerns the whole email.',
    }),
    cause: Nullable(Cause, { description: 'The cause; null: none.' }),
    visit: Nullable(Visit, { description: 'Details of an open or click; null for other events.' }),
  },
  { description: 'An event of an email.' },
)
export type EmailEvent = Static<typeof EmailEvent>

export const Wait = Type.Object(
  {
    delivery_id: Id,
    from: Timestamp,
    until: Timestamp,
    reason: literals(PAST_WAIT_REASONS, { description: 'The reason, for programs.' }),
    why: Type.String({ description: 'The reason, as text that completes “Waited 35 s: …”.' }),
  },
  { description: 'A wait of one second or more before an attempt.' },
)
export type Wait = Static<typeof Wait>

/** GET /emails/:id/timeline: the complete history of an email. Not part of the hosted API. */
export const Timeline = Type.Object(
  {
    object: kind('timeline'),
    email_id: Id,
    accepted_at: Timestamp,
    recipients: RecipientCounts,
    deliveries: Type.Array(Delivery, { description: 'One per recipient.' }),
    attempts: Type.Array(Attempt, { description: 'All attempts, oldest first.' }),
    events: Type.Array(EmailEvent, { description: 'All events, oldest first.' }),
    waits: Type.Array(Wait, { description: 'Waits before attempts, oldest first for each delivery.' }),
    returned: Type.Array(ReturnedMessage, { description: 'Messages to the return path, newest first.' }),
  },
  { description: 'The history of an email.' },
)
export type Timeline = Static<typeof Timeline>

const operation = operationsIn('Emails')

export const getTimeline = operation('GET /emails/:id/timeline', {
  summary: 'Get the timeline of an email',
  description:
    'Every recipient with its delivery state, every attempt with its SMTP transcript, and every event. Not part of the hosted API.',
  params: path({ id: pathId }),
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
