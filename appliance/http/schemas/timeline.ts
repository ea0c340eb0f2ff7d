import { SUPPRESSION_ORIGINS } from '../../mail/suppression.ts'
import { Type, type Static } from 'typebox'
import { EMAIL_EVENTS } from '../../mail/event.ts'
import { DELIVERY_STATES } from '../../mail/verdict.ts'
import { Id, literals, Nullable, Timestamp } from './shared.ts'

const Reply = Type.Object({
  code: Type.Integer(),
  enhanced: Nullable(Type.String()),
  text: Type.String(),
})

/** Why a delivery is where it is (mail/verdict.ts). */
export const Cause = Type.Object({
  phase: Type.String(),
  host: Nullable(Type.String()),
  ip: Nullable(Type.String()),
  reply: Nullable(Reply),
  note: Type.String({ description: 'One sentence for people.' }),
  origin: Type.Optional(
    literals(SUPPRESSION_ORIGINS, { description: 'What had put a suppressed address on the list.' }),
  ),
})
export type Cause = Static<typeof Cause>

export const Delivery = Type.Object({
  id: Id,
  email_id: Id,
  recipient: Type.String(),
  field: literals(['to', 'cc', 'bcc']),
  lane: Type.String(),
  state: literals(DELIVERY_STATES),
  attempts: Type.Integer(),
  created_at: Timestamp,
  updated_at: Timestamp,
  next_attempt_at: Nullable(Timestamp),
  expires_at: Nullable(Timestamp),
  cause: Nullable(Cause),
})
export type Delivery = Static<typeof Delivery>

/** One exchange of an attempt (mail/transcript.ts); times in milliseconds from its start. */
export const Step = Type.Object({
  name: Type.String(),
  host: Nullable(Type.String()),
  ip: Nullable(Type.String()),
  sent: Nullable(Type.String()),
  reply: Nullable(Reply),
  note: Nullable(Type.String()),
  at: Type.Number(),
  ms: Type.Number(),
})
export type Step = Static<typeof Step>

export const Attempt = Type.Object({
  id: Id,
  delivery_ids: Type.Array(Id),
  started_at: Timestamp,
  ended_at: Timestamp,
  host: Nullable(Type.String()),
  ip: Nullable(Type.String()),
  tls: Nullable(
    Type.Object({
      version: Type.String(),
      cipher: Type.String(),
      verified: Type.Boolean(),
      error: Nullable(Type.String()),
      subject: Type.String(),
      issuer: Type.String(),
      validTo: Type.String(),
    }),
  ),
  steps: Type.Array(Step),
})
export type Attempt = Static<typeof Attempt>

export const EmailEvent = Type.Object({
  id: Id,
  type: literals(EMAIL_EVENTS),
  created_at: Timestamp,
  delivery_id: Nullable(Id),
  recipient: Nullable(Type.String()),
  cause: Nullable(Cause),
})
export type EmailEvent = Static<typeof EmailEvent>

/** GET /emails/:id/timeline: all that is known of what happened to an email. Ours, not of the hosted service. */
export const Timeline = Type.Object({
  object: Type.Literal('timeline'),
  email_id: Id,
  deliveries: Type.Array(Delivery),
  attempts: Type.Array(Attempt),
  events: Type.Array(EmailEvent),
})
export type Timeline = Static<typeof Timeline>
