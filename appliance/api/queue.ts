/** Queued deliveries: the list, its counts and lanes. Changes: queue-changes.ts. */
import { Type, type Static } from 'typebox'
import { BACKLOG_STATES } from '../shaping/shaping.ts'
import { array, arrayOfObjects, integer, kind, literals, Nullable, object, string } from './schemas.ts'
import { listOf, Timestamp } from './shared.ts'
import { Lane, presentLane } from './shaping.ts'
import { Delivery, WaitingReason } from './timeline.ts'
import { formatWaitReason } from '../mail/waiting.ts'
import type { BacklogCount, QueueLaneFacts } from '../shaping/shaping.ts'
import type { QueueSummary as StoredQueueSummary } from '../queue/queue.ts'
import { timestamp, timestampOrNull } from './timestamp.ts'
import { operationsIn } from './operation.ts'
import {
  afterParameter,
  byId,
  conditions,
  limit,
  type RawParameters,
  unparsedParameter,
  unsupportedParameter,
} from './parameters.ts'

const Time = Nullable(Timestamp, 'Null: there is none.')

/** GET /queue: deliveries in the format of timelines, oldest first. */
export const QueueList = listOf(Delivery, 'queued deliveries, oldest first')

/** The fields of every count of deliveries. */
export const counts = {
  count: integer('Number of deliveries.'),
  waiting: integer('Waiting deliveries.'),
  held: integer('Held deliveries.'),
  in_flight: integer('Deliveries with an attempt in progress.'),
  oldest_at: Time,
  newest_at: Time,
  teams: integer('Number of teams they belong to.'),
  providers: arrayOfObjects('By provider: the 50 with the most deliveries.', {
    provider: string('The mailbox provider, or `?` and a domain that was never looked up.'),
    waiting: integer('Waiting deliveries.'),
    held: integer('Held deliveries.'),
    in_flight: integer('Deliveries with an attempt in progress.'),
    oldest_at: Timestamp,
  }),
  domains: arrayOfObjects('By recipient domain: the 50 with the most deliveries.', {
    domain: string('The recipient domain.'),
    provider: string('Its provider.'),
    count: integer('Number of deliveries.'),
  }),
  ages: arrayOfObjects('By age, youngest first.', {
    from_minutes: integer('Minimum age.'),
    to_minutes: Nullable(Type.Integer(), 'Maximum age, exclusive; null: none.'),
    count: integer('Number of deliveries.'),
  }),
}

export const QueueSummary = object('Counts of queued deliveries.', {
  object: kind('queue_summary'),
  ...counts,
})
export type QueueSummary = Static<typeof QueueSummary>

/** An element of GET /queue/lanes; not part of the hosted API. */
export const QueueLane = object('Queued mail of one pool for one provider.', {
  object: kind('queue_lane'),
  id: string('Pool and provider.', { examples: ['default/google'] }),
  pool: Nullable(Type.String(), 'The pool of sending IPs; null: several.'),
  provider: Nullable(
    Type.String(),
    'The mailbox provider; `?` and a domain that was never looked up; `?` alone: several such domains; null: several providers.',
  ),
  provider_name: string('Display name of the provider, or the domain; empty: several.'),
  count: integer('Deliveries in this row. Each delivery is in exactly one row.'),
  due: integer('Deliveries that are due now.'),
  later: integer('Deliveries that are due later.'),
  held: integer('Held deliveries.'),
  in_flight: integer('Deliveries with an attempt in progress.'),
  oldest_at: Time,
  next_at: Nullable(Timestamp, 'When the next of `later` is due; null: none.'),
  state: literals(BACKLOG_STATES, 'The state, in one word.'),
  reason: Nullable(WaitingReason, 'The reason, as data; null: the state is the reason.'),
  why: Nullable(Type.String(), 'The reason, in one line; null: the state is the reason.'),
  until: Nullable(Timestamp, 'When it continues; null: unknown.'),
  lanes: array(
    Lane,
    'Its lanes, one for each sending IP used so far. Empty for teams that do not operate the server.',
  ),
})
export type QueueLane = Static<typeof QueueLane>
export const QueueLaneList = listOf(QueueLane, 'rows, largest first')
export type QueueLaneList = Static<typeof QueueLaneList>

const condition = (description: string) => unparsedParameter(string(description))

/** Query parameters that `parseQueueFilter` parses. */
const filter = {
  domain: condition('Only deliveries to this recipient domain.'),
  provider: condition('Only deliveries to this mailbox provider.'),
  pool: condition('Only deliveries in this pool.'),
  region: condition('Only deliveries in the pools of this region.'),
  node: condition('Only deliveries in pools with a sending IP of this node, by name or id.'),
  stream: condition('`transactional` or `broadcast`.'),
  tag: condition('Only emails with this tag: `name` or `name=value`.'),
  state: condition('`waiting` or `held`.'),
  older_than: condition('Accepted before this long ago: `90m`, `2h`, `3d`.'),
  newer_than: condition('Accepted within the last: `90m`, `2h`, `3d`.'),
  reply: condition('Only deliveries whose last reply contains these words.'),
  category: condition('Only this failure category.'),
  source: condition('Only deliveries last attempted from this sending IP.'),
  email_id: condition('Only deliveries of this email.'),
  broadcast: condition('Only deliveries of this broadcast, by its id.'),
  id: condition('Only this delivery.'),
  team_id: condition('Only this team, or `all`. For the team that operates the server.'),
}
/** The filter parameters in a request. */
export type QueueConditions = RawParameters<typeof filter>

const operation = operationsIn('Queue')

export const listQueue = operation('GET /queue', {
  summary: 'List queued deliveries',
  description: 'Oldest first, each with the reason why it is queued. Not part of the hosted API.',
  querystring: conditions({
    limit,
    after: afterParameter,
    before: unsupportedParameter('this list pages only forward, with `after`'),
    ...filter,
  }),
  response: { 200: QueueList },
})
export const getQueueSummary = operation('GET /queue/summary', {
  summary: 'Count queued deliveries',
  description: 'By state, provider, domain and age.',
  querystring: conditions(filter),
  response: { 200: QueueSummary },
})
export const listQueueLanes = operation('GET /queue/lanes', {
  summary: 'List the queue by pool and provider',
  description:
    'Each delivery is in exactly one row, so the counts add up to those of `GET /queue/summary`. Of the domains that were never looked up, the 20 largest have a row each; the others share one row per pool. Beyond 100 rows, the smallest share one. Without conditions, the team that operates the server also gets lanes without queued deliveries.',
  querystring: conditions(filter),
  response: { 200: QueueLaneList },
})
export const getQueuedDelivery = operation('GET /queue/:id', {
  summary: 'Get a queued delivery',
  description: 'With the reason why it is queued. For final deliveries, see the timeline of their email.',
  params: byId,
  response: { 200: Delivery },
})
/** Formats the `counts` of a summary. */
export const presentQueueCounts = (summary: StoredQueueSummary) => ({
  count: summary.count,
  waiting: summary.waiting,
  held: summary.held,
  in_flight: summary.inFlight,
  oldest_at: timestampOrNull(summary.oldestAt),
  newest_at: timestampOrNull(summary.newestAt),
  teams: summary.teams,
  providers: summary.providers.map(({ provider, waiting, held, inFlight, oldestAt }) => ({
    provider,
    waiting,
    held,
    in_flight: inFlight,
    oldest_at: timestamp(oldestAt),
  })),
  domains: summary.domains,
  ages: summary.ages.map(({ from, to, count }) => ({
    from_minutes: from / 60_000,
    to_minutes: to === null ? null : to / 60_000,
    count,
  })),
})

/** Formats the response of GET /queue/summary. */
export function presentQueueSummary(summary: StoredQueueSummary): QueueSummary {
  return { object: 'queue_summary', ...presentQueueCounts(summary) }
}

/**
 * Formats an element of GET /queue/lanes. @param whole whether to include the lanes, whose data covers the mail of all
 * teams
 */
export function presentQueueLane(
  { counted, name, state, reason, until, lanes }: QueueLaneFacts<BacklogCount & { oldestAt?: number }>,
  whole: boolean,
): QueueLane {
  const { pool, provider, count, due, later, held, inFlight, oldestAt, nextAt } = counted
  return {
    object: 'queue_lane',
    id: `${pool ?? '*'}/${provider ?? '*'}`,
    pool,
    provider,
    provider_name: name,
    count,
    due,
    later,
    held,
    in_flight: inFlight,
    oldest_at: timestampOrNull(oldestAt ?? null),
    next_at: timestampOrNull(nextAt),
    state,
    reason,
    why: reason && formatWaitReason(reason),
    until: timestampOrNull(until),
    lanes: whole ? lanes.map(presentLane) : [],
  }
}
