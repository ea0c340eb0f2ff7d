import { Type, type Static } from 'typebox'
import {
  MAX_PAUSE_MINUTES,
  NUMBER_SETTINGS,
  WARM_UP,
  toExternalSettings,
  type LaneSummary,
  type Provider as StoredProvider,
} from '../shaping/shaping.ts'
import { LaneDecision } from './timeline.ts'
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
  string,
} from './schemas.ts'
import { listOf, Timestamp } from './shared.ts'
import { describeLaneReason } from '../mail/waiting.ts'
import { timestamp, timestampOrNull } from './timestamp.ts'
import { operationsIn } from './operation.ts'
import { path, pathText } from './parameters.ts'

const number = (at: number) => {
  const { minimum, maximum, description } = NUMBER_SETTINGS[at]!
  return integer(description, { minimum, maximum })
}

const limits = {
  connections: number(0),
  messages_per_connection: number(1),
  messages_per_minute: number(2),
  recipients_per_message: number(3),
  idle_seconds: number(4),
}
const warmUp = array(Type.Integer({ minimum: 1, maximum: WARM_UP.maximum }), WARM_UP.description, {
  maxItems: WARM_UP.most,
})

/** GET /providers/:id, an element of GET /providers, and the response to changes. Not part of the hosted API. */
export const Provider = object('A mailbox provider and its limits.', {
  object: kind('provider'),
  id: string('The id in providers.toml, or the domain of a mail exchanger.'),
  name: string('Display name.'),
  mx: array(Type.String(), 'Its mail exchangers, or their parent domains.'),
  ...limits,
  warm_up: warmUp,
  pauses: arrayOfObjects('Replies that pause a lane.', {
    text: Nullable(Type.String(), 'Pattern for the text of the reply.'),
    enhanced: Nullable(Type.String(), 'Pattern for the enhanced status code.'),
    minutes: integer('How long the lane pauses.'),
    says: string('Meaning of the reply.'),
  }),
  origin: literals(['table', 'default'], 'default: not in providers.toml.'),
  changed: array(Type.String(), 'Settings that were changed at runtime.'),
})
export type Provider = Static<typeof Provider>
export const ProviderList = listOf(Provider, 'mailbox providers')

const optional = (at: number) => optionalOrNull(number(at), NUMBER_SETTINGS[at]!.description)

export const UpdateProvider = object(
  'Missing settings stay the same; null restores the value of providers.toml.',
  {
    connections: optional(0),
    messages_per_connection: optional(1),
    messages_per_minute: optional(2),
    recipients_per_message: optional(3),
    idle_seconds: optional(4),
    warm_up: optionalOrNull(warmUp, WARM_UP.description),
  },
)

export const PauseLane = object('A pause.', {
  minutes: Type.Optional(
    integer('Length of the pause. Default: until resumed.', { minimum: 1, maximum: MAX_PAUSE_MINUTES }),
  ),
})

/** An element of GET /lanes, and the response to changes. Not part of the hosted API. */
export const Lane = object('The limits from one sending IP to one provider.', {
  object: kind('lane'),
  id: string('The sending IP and the provider.', { examples: ['192.0.2.1~google'] }),
  source: string('The sending IP.'),
  pool: Nullable(Type.String(), 'The pool of the sending IP; null: the IP no longer exists.'),
  provider: string('Id of the provider.'),
  provider_name: string('Display name.'),
  connections: integer('Connections allowed now.'),
  most_connections: integer('Maximum number of connections.'),
  messages_per_minute: integer('Messages per minute allowed now.'),
  most_messages_per_minute: integer('Maximum number of messages per minute.'),
  in_flight: Nullable(Type.Integer(), 'Messages being sent; null: the daemon was not queried.'),
  last_minute: Nullable(
    Type.Integer(),
    'Messages started in the last 60 seconds; null: the daemon was not queried.',
  ),
  minutes: Nullable(
    Type.Array(Type.Integer()),
    'Messages started in each of the last 60 minutes, oldest first; empty: none since startup. Null: the daemon was not queried.',
  ),
  paused: boolean('Whether the lane is paused.'),
  paused_until: Nullable(Timestamp, 'When the pause ends; null: not paused, or until resumed.'),
  warm_up: Nullable(
    Type.Object({
      day: integer('Day of the warm-up plan, from 1.'),
      share: integer('Messages allowed today.'),
      sent: integer('Messages sent today.'),
    }),
    'Warm-up of the sending IP; null: not warming up.',
  ),
  reason: Nullable(Type.String(), 'The last decision about the lane, as a sentence; null: none.'),
  decision: Nullable(LaneDecision, 'The last decision, as data; null: none.'),
  reason_at: Nullable(Timestamp, 'Time of the last decision.'),
  updated_at: Timestamp,
})
export type Lane = Static<typeof Lane>
export const LaneList = listOf(Lane, 'lanes')

const operation = operationsIn('Providers and lanes')

export const listProviders = operation('GET /providers', {
  summary: 'List mailbox providers',
  description: 'With their limits. For the team that operates the server. Not part of the hosted API.',
  response: { 200: ProviderList },
})
export const getProvider = operation('GET /providers/:id', {
  summary: 'Get a mailbox provider',
  params: path({ id: pathText('The id in providers.toml, or the domain of a mail exchanger.') }),
  response: { 200: Provider },
})
export const updateProvider = operation('PATCH /providers/:id', {
  summary: 'Change the limits of a mailbox provider',
  description: 'Effective immediately. `default` applies to every provider that is not in providers.toml.',
  params: path({ id: pathText('The id in providers.toml, or the domain of a mail exchanger.') }),
  body: UpdateProvider,
  response: { 200: Provider },
})
export const listLanes = operation('GET /lanes', {
  summary: 'List lanes',
  description: 'The current limits from each sending IP to each provider, and the reasons.',
  response: { 200: LaneList },
})
export const pauseLane = operation('POST /lanes/:id/pause', {
  summary: 'Pause a lane',
  description: 'No new messages are sent. Messages in progress finish.',
  params: path({ id: pathText('The sending IP and the provider: `192.0.2.1~google`.') }),
  body: Nullable(PauseLane),
  response: { 200: Lane },
})
export const resumeLane = operation('POST /lanes/:id/resume', {
  summary: 'Resume a lane',
  description: 'Ends any pause, and the reduced limits that follow it.',
  params: path({ id: pathText('The sending IP and the provider: `192.0.2.1~google`.') }),
  response: { 200: Lane },
})

/** Formats a mailbox provider. Not part of the hosted API. */
export function presentProvider(provider: StoredProvider): Provider {
  const { id, name, mx, limits, warmUp, pauses, origin, changed } = provider
  const settings = toExternalSettings({ ...limits, warmUp }) as Pick<
    Provider,
    | 'connections'
    | 'messages_per_connection'
    | 'messages_per_minute'
    | 'recipients_per_message'
    | 'idle_seconds'
    | 'warm_up'
  >
  return {
    object: 'provider',
    id,
    name,
    mx,
    ...settings,
    pauses: pauses.map(({ text, enhanced, minutes, says }) => ({
      text: text?.source ?? null,
      enhanced: enhanced?.source ?? null,
      minutes,
      says,
    })),
    origin,
    changed,
  }
}

/** Formats a lane. Not part of the hosted API. */
export function presentLane(lane: LaneSummary): Lane {
  const { warmUp, activity } = lane
  return {
    object: 'lane',
    id: lane.id,
    source: lane.source,
    pool: lane.pool,
    provider: lane.provider,
    provider_name: lane.name,
    connections: lane.allowed.connections,
    most_connections: lane.limits.connections,
    messages_per_minute: Math.round(lane.allowed.messagesPerMinute),
    most_messages_per_minute: lane.limits.messagesPerMinute,
    in_flight: activity?.inFlight ?? null,
    last_minute: activity?.lastMinute ?? null,
    minutes: activity?.minutes ?? null,
    paused: lane.paused !== null,
    paused_until: timestampOrNull(lane.paused?.until ?? null),
    warm_up: warmUp && { day: warmUp.day, share: warmUp.share, sent: warmUp.sent },
    reason: lane.reason && describeLaneReason(lane.reason, lane.name),
    decision: lane.reason,
    reason_at: timestampOrNull(lane.reasonAt),
    updated_at: timestamp(lane.updatedAt),
  }
}
