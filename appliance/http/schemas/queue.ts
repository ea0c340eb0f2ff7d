import { Type, type Static } from 'typebox'
import { QUEUE_ACTIONS } from '../../mail/queue-action.ts'
import { BACKLOG_STATES } from '../../shaping/shaping.ts'
import { Id, kind, listOf, literals, Nullable, Timestamp } from '../../api/shared.ts'
import { Lane } from '../../api/shaping.ts'
import { Delivery, WaitingReason } from '../../api/timeline.ts'

const count = (description: string) => Type.Integer({ description })
const Time = Nullable(Timestamp, { description: 'Null: there is none.' })

/** GET /queue: deliveries as timelines show them, oldest first. */
export const QueueList = listOf(Delivery, 'queued deliveries, oldest first')

const counts = {
  count: count('Number of deliveries.'),
  waiting: count('Waiting deliveries.'),
  held: count('Held deliveries.'),
  in_flight: count('Deliveries with an attempt in progress.'),
  oldest_at: Time,
  newest_at: Time,
  teams: count('Number of teams they belong to.'),
  providers: Type.Array(
    Type.Object({
      provider: Type.String({
        description: 'The mailbox provider, or `?` and a domain that was never looked up.',
      }),
      waiting: count('Waiting deliveries.'),
      held: count('Held deliveries.'),
      in_flight: count('Deliveries with an attempt in progress.'),
      oldest_at: Timestamp,
    }),
    { description: 'By provider: the 50 with the most deliveries.' },
  ),
  domains: Type.Array(
    Type.Object({
      domain: Type.String({ description: 'The recipient domain.' }),
      provider: Type.String({ description: 'Its provider.' }),
      count: count('Number of deliveries.'),
    }),
    { description: 'By recipient domain: the 50 with the most deliveries.' },
  ),
  ages: Type.Array(
    Type.Object({
      from_minutes: count('Minimum age.'),
      to_minutes: Nullable(Type.Integer(), { description: 'Maximum age, exclusive; null: none.' }),
      count: count('Number of deliveries.'),
    }),
    { description: 'By age, youngest first.' },
  ),
}

/** GET /queue/summary */
export const QueueSummary = Type.Object(
  { object: kind('queue_summary'), ...counts },
  { description: 'Counts of queued deliveries.' },
)
export type QueueSummary = Static<typeof QueueSummary>

/** An element of GET /queue/lanes; ours. */
export const QueueLane = Type.Object(
  {
    object: kind('queue_lane'),
    id: Type.String({ description: 'Pool and provider.', examples: ['default/google'] }),
    pool: Nullable(Type.String(), { description: 'The pool of sending IPs; null: several.' }),
    provider: Nullable(Type.String(), {
      description:
        'The mailbox provider; `?` and a domain that was never looked up; `?` alone: several such domains; null: several providers.',
    }),
    provider_name: Type.String({
      description: 'Display name of the provider, or the domain; empty: several.',
    }),
    count: count('Deliveries in this row. Each delivery is in exactly one row.'),
    due: count('Deliveries that are due now.'),
    later: count('Deliveries that are due later.'),
    held: count('Held deliveries.'),
    in_flight: count('Deliveries with an attempt in progress.'),
    oldest_at: Time,
    next_at: Nullable(Timestamp, { description: 'When the next of `later` is due; null: none.' }),
    state: literals(BACKLOG_STATES, { description: 'The state, in one word.' }),
    reason: Nullable(WaitingReason, { description: 'The reason, as data; null: the state is the reason.' }),
    why: Nullable(Type.String(), { description: 'The reason, in one line; null: the state is the reason.' }),
    until: Nullable(Timestamp, { description: 'When it continues; null: unknown.' }),
    lanes: Type.Array(Lane, {
      description:
        'Its lanes, one for each sending IP used so far. Empty for teams that do not operate the server.',
    }),
  },
  { description: 'Queued mail of one pool for one provider.' },
)
export type QueueLane = Static<typeof QueueLane>
export const QueueLaneList = listOf(QueueLane, 'rows, largest first')

/** POST /queue/preview */
export const QueuePreview = Type.Object(
  {
    object: kind('queue_preview'),
    action: literals(QUEUE_ACTIONS, { description: 'The operation.' }),
    ...counts,
    sample: Type.Array(Delivery, { description: 'The ten oldest deliveries.' }),
  },
  { description: 'What an operation would change.' },
)
export type QueuePreview = Static<typeof QueuePreview>

/** Conditions by name; the reader of spool/queue-filter.ts says which are known. */
const Filter = Type.Record(Type.String(), Type.String(), {
  description:
    'Conditions that must all match: domain, provider, pool, stream, tag (`name` or `name=value`), state (waiting, held), older_than and newer_than (`2h`), reply (words of the last reply), category, source, email_id, id. team_id is for the team that operates the server: a team, or `all`.',
  examples: [{ provider: 'google', older_than: '2h' }],
})
const given = {
  filter: Type.Optional(Filter),
  pool: Type.Optional(Type.String({ description: 'The target pool of `reroute`.', examples: ['default'] })),
  all: Type.Optional(Type.Boolean({ description: 'Allows `drop` and `expire` without any condition.' })),
  new: Type.Optional(
    Type.Boolean({ description: 'With `hold`: also hold new mail, until released or undone.' }),
  ),
}

/** POST /queue/preview */
export const PreviewQueue = Type.Object(
  { action: literals(QUEUE_ACTIONS, { description: 'The operation.' }), ...given },
  { description: 'The operation to preview.' },
)

/** POST /queue/hold and the other actions */
export const ChangeQueue = Type.Object(
  {
    ...given,
    expected_count: Type.Optional(
      Type.Integer({ minimum: 0, description: 'Nothing is changed if more deliveries than this match.' }),
    ),
  },
  { description: 'The operation, and the deliveries it applies to.' },
)

/** POST /queue/undo */
export const UndoQueue = Type.Object(
  { audit_id: Type.String({ format: 'uuid', description: 'The `audit_id` of the operation to undo.' }) },
  { description: 'The operation to undo.' },
)

/** Holds new mail; ours. */
export const HoldRule = Type.Object(
  {
    object: kind('hold_rule'),
    id: Id,
    team_id: Nullable(Id, { description: 'Only this team; null: any.' }),
    domain: Nullable(Type.String(), { description: 'Only this recipient domain; null: any.' }),
    provider: Nullable(Type.String(), { description: 'Only this provider; null: any.' }),
    tag: Nullable(Type.String(), { description: 'Only this tag, `name` or `name=value`; null: any.' }),
    created_at: Timestamp,
  },
  {
    description:
      'A rule that holds new mail. Its id is the id of the audit entry, which `POST /queue/undo` takes.',
  },
)
export type HoldRule = Static<typeof HoldRule>
export const HoldRuleList = listOf(HoldRule, 'rules that hold new mail')

/** What the actions answer. */
export const QueueChange = Type.Object(
  {
    object: kind('queue_change'),
    action: literals(QUEUE_ACTIONS, { description: 'The operation.' }),
    count: count('Number of changed deliveries.'),
    audit_id: Id,
    rule: Nullable(HoldRule, { description: 'The rule that was created or ended; null: none.' }),
  },
  { description: 'The result of a queue operation.' },
)
export type QueueChange = Static<typeof QueueChange>
