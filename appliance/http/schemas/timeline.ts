import { SUPPRESSION_ORIGINS } from '../../mail/suppression.ts'
import { Type, type Static } from 'typebox'
import { CATEGORIES } from '../../mail/bounce.ts'
import { EMAIL_EVENTS } from '../../mail/event.ts'
import { LANE_REASONS, WAIT_REASONS } from '../../mail/waiting.ts'
import { DELIVERY_STATES } from '../../mail/verdict.ts'
import { PAST_WAIT_REASONS } from '../../mail/wait.ts'
import { RecipientCounts, RecipientStatus } from './recipients.ts'
import { Id, kind, literals, Nullable, Timestamp } from './shared.ts'

const Reply = Type.Object(
  {
    code: Type.Integer({ description: 'The reply code, 220 to 599.' }),
    enhanced: Nullable(Type.String(), { description: 'The enhanced status code, as `5.1.1`; null: none.' }),
    text: Type.String({ description: 'Its words, without the codes.' }),
  },
  { description: 'What a mail server answered.' },
)

/** Why a delivery is where it is (mail/verdict.ts). */
export const Cause = Type.Object(
  {
    phase: Type.String({ description: 'The step in which it was decided.' }),
    host: Nullable(Type.String(), { description: 'The mail server; null: none was asked.' }),
    ip: Nullable(Type.String(), { description: 'The address of the mail server; null: none was asked.' }),
    reply: Nullable(Reply, { description: 'What the mail server answered; null: nothing.' }),
    status: Type.Optional(
      Type.String({ description: 'The enhanced status code of what this server found itself.' }),
    ),
    category: Type.Optional(
      literals(CATEGORIES, { description: 'What the failure is about (docs/bounces.md).' }),
    ),
    note: Type.String({ description: 'One sentence for people.' }),
    advice: Type.Optional(
      Type.Object(
        {
          text: Type.String({ description: 'What to do.' }),
          link: Type.Optional(Type.String({ description: 'Where to do it, or to read more.' })),
        },
        { description: 'What the operator can do about it, and where.' },
      ),
    ),
    by: Type.Optional(
      literals(['operator', 'sender', 'erasure'], {
        description: 'Who ended the delivery, where no attempt did.',
      }),
    ),
    origin: Type.Optional(
      literals(SUPPRESSION_ORIGINS, { description: 'What had put a suppressed address on the list.' }),
    ),
  },
  { description: 'Why a delivery is where it is.' },
)
export type Cause = Static<typeof Cause>

const number = (description: string) => Type.Optional(Type.Integer({ description }))
const text = (description: string) => Type.Optional(Type.String({ description }))

const laneReason = {
  key: literals(LANE_REASONS, { description: 'Which decision. The other fields depend on it.' }),
  reply: Type.Optional(Reply),
  says: text('What the reply is known to mean.'),
  note: text('What happened, in words.'),
  text: text('A sentence that an earlier version saved.'),
  connections: number('Connections that are allowed.'),
  rate: number('Messages a minute that are allowed.'),
  attempts: number('Attempts in a row that reached nobody.'),
  messages: number('Messages a day of the warm-up.'),
  sent: number('Messages of that day.'),
  complained: number('How many of them were refused.'),
}
/** The last decision about a lane, as data (mail/waiting.ts). */
export const LaneDecision = Type.Object(
  {
    ...laneReason,
    because: Type.Optional(
      Nullable(Type.Object(laneReason, { description: 'The decision before it.' }), {
        description: 'The decision that led to it; null: none.',
      }),
    ),
  },
  { description: 'The last decision about a lane.' },
)

/** Why a delivery waits, as data (mail/waiting.ts). */
export const WaitingReason = Type.Object(
  {
    key: literals(WAIT_REASONS, { description: 'Which reason. The other fields depend on it.' }),
    attempt: number('The number of the next attempt.'),
    note: text('What happened, in words.'),
    reply: Type.Optional(Nullable(Reply, { description: 'What the mail server answered; null: nothing.' })),
    provider: text('The name of the mailbox provider.'),
    source: Type.Optional(
      Nullable(Type.String(), { description: 'The source address; null: the system chooses.' }),
    ),
    rate: number('Messages a minute that are allowed.'),
    connections: number('Connections that are allowed.'),
    sent: number('Messages of the warm-up that were sent today.'),
    share: number('Messages of the warm-up for today.'),
    because: Type.Optional(
      Nullable(LaneDecision, { description: 'Why the lane is limited; null: no decision was made.' }),
    ),
  },
  { description: 'Why it waits, as data.' },
)

export const Delivery = Type.Object(
  {
    id: Id,
    email_id: Id,
    recipient: Type.String({ description: 'The address.' }),
    field: literals(['to', 'cc', 'bcc'], { description: 'Where the email named it.' }),
    pool: Type.String({ description: 'The pool of source addresses that it leaves from.' }),
    provider: Type.String({
      description: 'The mailbox provider behind its domain, or `?` and the domain before that was looked up.',
    }),
    state: literals(DELIVERY_STATES, { description: 'How far it is.' }),
    status: RecipientStatus,
    attempts: Type.Integer({ description: 'How many times it was tried.' }),
    created_at: Timestamp,
    updated_at: Timestamp,
    next_attempt_at: Nullable(Timestamp, { description: 'When it is tried next; null: not again.' }),
    expires_at: Nullable(Timestamp, { description: 'When it is given up; null: it is final.' }),
    cause: Nullable(Cause, { description: 'Why it is where it is; null: it was not tried yet.' }),
    waiting: Nullable(
      Type.Object({
        until: Nullable(Timestamp, { description: 'When it goes on; null: that is not known.' }),
        why: Type.String({ description: 'Why it waits, in words.' }),
        reason: Type.Optional(WaitingReason),
      }),
      { description: 'What it waits for; null: it does not wait.' },
    ),
  },
  { description: 'What became of an email to one recipient.' },
)
export type Delivery = Static<typeof Delivery>

/** One exchange of an attempt (mail/transcript.ts); times in milliseconds from its start. */
export const Step = Type.Object(
  {
    name: Type.String({ description: 'Which step, as `connect`, `ehlo`, `rcpt`.' }),
    host: Nullable(Type.String(), { description: 'The mail server; null: none.' }),
    ip: Nullable(Type.String(), { description: 'Its address; null: none.' }),
    sent: Nullable(Type.String(), { description: 'The command that was sent; null: none.' }),
    reply: Nullable(Reply, { description: 'The answer; null: none came, or none was waited for.' }),
    note: Nullable(Type.String(), { description: 'What there is to say beside the words of the servers.' }),
    at: Type.Number({ description: 'When it began, in milliseconds from the start of the attempt.' }),
    ms: Type.Number({ description: 'How many milliseconds it took.' }),
  },
  { description: 'One exchange of an attempt.' },
)
export type Step = Static<typeof Step>

export const Attempt = Type.Object(
  {
    id: Id,
    delivery_ids: Type.Array(Id, { description: 'The deliveries that were tried together.' }),
    started_at: Timestamp,
    ended_at: Timestamp,
    host: Nullable(Type.String(), { description: 'The mail server that was talked to last; null: none.' }),
    ip: Nullable(Type.String(), { description: 'Its address; null: none.' }),
    tls: Nullable(
      Type.Object({
        version: Type.String({ description: 'The version of TLS.' }),
        cipher: Type.String({ description: 'The cipher suite.' }),
        group: Type.Optional(Type.String({ description: 'Key exchange group.' })),
        verified: Type.Boolean({ description: 'Whether the certificate is valid for the host.' }),
        error: Nullable(Type.String(), { description: 'Why it is not; null: it is.' }),
        by: Type.Optional(
          literals(['pkix', 'dane'], {
            description: 'What the certificate was measured by: trusted authorities, or TLSA records.',
          }),
        ),
        chainValid: Type.Optional(
          Type.Boolean({ description: 'Whether a trusted authority vouches for the certificate.' }),
        ),
        nameMatched: Type.Optional(Type.Boolean({ description: 'Whether it names the host.' })),
        subject: Type.String({ description: 'Whom the certificate is for.' }),
        issuer: Type.String({ description: 'Who made it.' }),
        validFrom: Type.Optional(Type.String({ description: 'From when it is valid.' })),
        validTo: Type.String({ description: 'Until when it is valid.' }),
        fingerprint: Type.Optional(Type.String({ description: 'SHA-256 of the certificate.' })),
      }),
      { description: 'The encryption; null: there was none.' },
    ),
    source: Nullable(Type.String(), {
      description: 'The address that it left from, or `auto` where the system chose; null: nothing was sent.',
    }),
    signatures: Type.Array(
      Type.Object({
        domain: Type.String({ description: 'The signing domain, `d=`.' }),
        selector: Type.String({ description: 'The selector of its key, `s=`.' }),
        algorithm: literals(['rsa-sha256', 'ed25519-sha256'], { description: 'The algorithm, `a=`.' }),
      }),
      { description: 'The DKIM signatures that the message was sent with.' },
    ),
    steps: Type.Array(Step, { description: 'Each exchange, in order.' }),
  },
  { description: 'One try to deliver, with all that was said.' },
)
export type Attempt = Static<typeof Attempt>

export const Visit = Type.Object(
  {
    link: Nullable(Type.String(), { description: 'Where the link leads; null for an open.' }),
    ip: Nullable(Type.String(), { description: 'From where; null where addresses are not kept.' }),
    user_agent: Type.String({ description: 'What the program said of itself.' }),
    robot: Type.Boolean({ description: 'It was a machine: counted apart, and not told to webhooks.' }),
    seen_by: Nullable(Type.String(), {
      description: 'The machine, or the proxy that a person’s program hides behind; null: nobody known.',
    }),
  },
  { description: 'Who opened the email or followed a link.' },
)
export type Visit = Static<typeof Visit>

export const EmailEvent = Type.Object(
  {
    id: Id,
    type: literals(EMAIL_EVENTS, { description: 'What happened.' }),
    created_at: Timestamp,
    delivery_id: Nullable(Id, { description: 'The delivery it happened to; null: the whole email.' }),
    recipient: Nullable(Type.String(), { description: 'Its recipient; null: the whole email.' }),
    cause: Nullable(Cause, { description: 'Why; null: there is nothing to say.' }),
    visit: Nullable(Visit, { description: 'Opens and clicks: by whom; null for all other events.' }),
  },
  { description: 'Something that happened to an email.' },
)
export type EmailEvent = Static<typeof EmailEvent>

export const Wait = Type.Object(
  {
    delivery_id: Id,
    from: Timestamp,
    until: Timestamp,
    reason: literals(PAST_WAIT_REASONS, { description: 'Why, for programs.' }),
    why: Type.String({ description: 'Why, in words that complete “Waited 35 s: …”.' }),
  },
  { description: 'A time of a second or more in which a delivery waited for its next attempt.' },
)
export type Wait = Static<typeof Wait>

/** GET /emails/:id/timeline: all that is known of what happened to an email. Ours, not of the hosted service. */
export const Timeline = Type.Object(
  {
    object: kind('timeline'),
    email_id: Id,
    accepted_at: Timestamp,
    recipients: RecipientCounts,
    deliveries: Type.Array(Delivery, { description: 'One for each recipient.' }),
    attempts: Type.Array(Attempt, { description: 'Each time it was tried, oldest first.' }),
    events: Type.Array(EmailEvent, { description: 'What happened, oldest first.' }),
    waits: Type.Array(Wait, { description: 'The waits before attempts, for each delivery oldest first.' }),
  },
  { description: 'All that is known of what happened to an email.' },
)
export type Timeline = Static<typeof Timeline>
