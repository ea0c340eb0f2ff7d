import { Type, type Static } from 'typebox'
import { MOST_PAUSE_MINUTES, NUMBER_SETTINGS, WARM_UP } from '../../shaping/shaping.ts'
import { LaneDecision } from './timeline.ts'
import { kind, listOf, literals, Nullable, Timestamp } from './shared.ts'

const number = (at: number) => {
  const { minimum, maximum, description } = NUMBER_SETTINGS[at]!
  return Type.Integer({ minimum, maximum, description })
}

const limits = {
  connections: number(0),
  messages_per_connection: number(1),
  messages_per_minute: number(2),
  recipients_per_message: number(3),
  idle_seconds: number(4),
}
const warmUp = Type.Array(Type.Integer({ minimum: 1, maximum: WARM_UP.maximum }), {
  maxItems: WARM_UP.most,
  description: WARM_UP.description,
})

/** GET /providers/:id, an element of GET /providers, and what changes answer. Ours. */
export const Provider = Type.Object(
  {
    object: kind('provider'),
    id: Type.String({ description: 'As providers.toml has it, or the domain of a mail exchanger.' }),
    name: Type.String({ description: 'What people call it.' }),
    mx: Type.Array(Type.String(), { description: 'Its mail exchangers, or the domains above them.' }),
    ...limits,
    warm_up: warmUp,
    pauses: Type.Array(
      Type.Object({
        text: Nullable(Type.String(), { description: 'Looked for in the reply.' }),
        enhanced: Nullable(Type.String(), { description: 'Looked for in its enhanced status code.' }),
        minutes: Type.Integer({ description: 'How long nothing is sent then.' }),
        says: Type.String({ description: 'What the reply is about.' }),
      }),
      { description: 'Replies after which it is left alone for a while.' },
    ),
    origin: literals(['table', 'default'], { description: 'default: it is not in providers.toml.' }),
    changed: Type.Array(Type.String(), {
      description: 'Settings that somebody changed while the server ran.',
    }),
  },
  { description: 'A mailbox provider and what it is given.' },
)
export type Provider = Static<typeof Provider>
export const ProviderList = listOf(Provider, 'Mailbox providers.')

const optional = (at: number) =>
  Type.Optional(Nullable(number(at), { description: NUMBER_SETTINGS[at]!.description }))

/** PATCH /providers/:id */
export const UpdateProvider = Type.Object(
  {
    connections: optional(0),
    messages_per_connection: optional(1),
    messages_per_minute: optional(2),
    recipients_per_message: optional(3),
    idle_seconds: optional(4),
    warm_up: Type.Optional(Nullable(warmUp, { description: WARM_UP.description })),
  },
  { description: 'What is not given stays; null gives it back to providers.toml.' },
)

/** POST /lanes/:id/pause */
export const PauseLane = Type.Object(
  {
    minutes: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MOST_PAUSE_MINUTES,
        description: 'Without it: until it is resumed.',
      }),
    ),
  },
  { description: 'How long.' },
)

/** An element of GET /lanes, and what changes of one answer. Ours. */
export const Lane = Type.Object(
  {
    object: kind('lane'),
    id: Type.String({ description: 'The source address and the provider.', examples: ['192.0.2.1~google'] }),
    source: Type.String({ description: 'The source address.' }),
    pool: Nullable(Type.String(), { description: 'The pool of the address; null: it is no longer there.' }),
    provider: Type.String({ description: 'The id of the provider.' }),
    provider_name: Type.String({ description: 'What people call it.' }),
    connections: Type.Integer({ description: 'Connections that may be open now.' }),
    most_connections: Type.Integer({ description: 'As many as it may come to have.' }),
    messages_per_minute: Type.Integer({ description: 'Messages that may be sent in a minute now.' }),
    most_messages_per_minute: Type.Integer({ description: 'As many as it may come to have.' }),
    in_flight: Nullable(Type.Integer(), {
      description: 'Messages that are being sent; null: the daemon was not asked.',
    }),
    last_minute: Nullable(Type.Integer(), {
      description: 'Messages begun in the last 60 seconds; null: the daemon was not asked.',
    }),
    minutes: Nullable(Type.Array(Type.Integer()), {
      description:
        'Messages begun in each of the last 60 minutes, the oldest first; empty: none since the start. Null: the daemon was not asked.',
    }),
    paused: Type.Boolean({ description: 'Whether nothing is sent now.' }),
    paused_until: Nullable(Timestamp, {
      description: 'When that ends by itself; null: it does not, or is not paused.',
    }),
    warm_up: Nullable(
      Type.Object({
        day: Type.Integer({ description: 'Of the plan, from 1.' }),
        share: Type.Integer({ description: 'Messages for today.' }),
        sent: Type.Integer({ description: 'Messages that were sent today.' }),
      }),
      { description: 'How far the warm-up of the address is; null: it is warm.' },
    ),
    reason: Nullable(Type.String(), { description: 'The last decision, a sentence; null: there was none.' }),
    decision: Nullable(LaneDecision, { description: 'The same as data; null: there was none.' }),
    reason_at: Nullable(Timestamp, { description: 'When that was.' }),
    updated_at: Timestamp,
  },
  { description: 'How much goes from one source address to one provider.' },
)
export type Lane = Static<typeof Lane>
export const LaneList = listOf(Lane, 'Lanes.')
