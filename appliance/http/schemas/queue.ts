import { Type, type Static } from 'typebox'
import { QUEUE_ACTIONS } from '../../mail/queue-action.ts'
import { BACKLOG_STATES } from '../../shaping/shaping.ts'
import { Id, kind, listOf, literals, Nullable, Timestamp } from './shared.ts'
import { Lane } from './shaping.ts'
import { Delivery, WaitingReason } from './timeline.ts'

const count = (description: string) => Type.Integer({ description })
const Time = Nullable(Timestamp, { description: 'Null: there is none.' })

/** GET /queue: deliveries as timelines show them, oldest first. */
export const QueueList = listOf(Delivery, 'deliveries that wait, oldest first')

const counts = {
  count: count('How many deliveries.'),
  waiting: count('Those that wait.'),
  held: count('Those that are held.'),
  in_flight: count('Those that are being tried.'),
  oldest_at: Time,
  newest_at: Time,
  teams: count('How many teams they belong to.'),
  providers: Type.Array(
    Type.Object({
      provider: Type.String({
        description: 'The mailbox provider, or `?` and a domain that was never looked up.',
      }),
      waiting: count('Those that wait.'),
      held: count('Those that are held.'),
      in_flight: count('Those that are being tried.'),
      oldest_at: Timestamp,
    }),
    { description: 'By provider: the 50 with the most.' },
  ),
  domains: Type.Array(
    Type.Object({
      domain: Type.String({ description: 'The recipient domain.' }),
      provider: Type.String({ description: 'Its provider.' }),
      count: count('How many deliveries.'),
    }),
    { description: 'By recipient domain: the 50 with the most.' },
  ),
  ages: Type.Array(
    Type.Object({
      from_minutes: count('At least so old.'),
      to_minutes: Nullable(Type.Integer(), { description: 'Younger than this; null: any age.' }),
      count: count('How many deliveries.'),
    }),
    { description: 'By age, the youngest first.' },
  ),
}

/** GET /queue/summary */
export const QueueSummary = Type.Object(
  { object: kind('queue_summary'), ...counts },
  { description: 'What waits, counted.' },
)
export type QueueSummary = Static<typeof QueueSummary>

/** An element of GET /queue/lanes; ours. */
export const QueueLane = Type.Object(
  {
    object: kind('queue_lane'),
    id: Type.String({ description: 'Pool and provider.', examples: ['default/google'] }),
    pool: Nullable(Type.String(), { description: 'The pool of source addresses; null: several.' }),
    provider: Nullable(Type.String(), {
      description:
        'The mailbox provider; `?` and a domain that was never looked up; `?` alone: several of these; null: several providers together.',
    }),
    provider_name: Type.String({ description: 'What people call it, or the domain; empty: several.' }),
    count: count('Deliveries in this row. Each delivery is in exactly one row.'),
    due: count('Those that are due now.'),
    later: count('Those that wait for a later time.'),
    held: count('Those that are held.'),
    in_flight: count('Those that are being tried.'),
    oldest_at: Time,
    next_at: Nullable(Timestamp, { description: 'When the next of `later` is due; null: there is none.' }),
    state: literals(BACKLOG_STATES, { description: 'How it stands, in one word.' }),
    reason: Nullable(WaitingReason, { description: 'Why, as data; null: the state says it all.' }),
    why: Nullable(Type.String(), { description: 'The same in one line; null: the state says it all.' }),
    until: Nullable(Timestamp, { description: 'When it continues; null: that is not known.' }),
    lanes: Type.Array(Lane, {
      description:
        'Its lanes, one for each source address used so far. Empty for teams that do not run the server.',
    }),
  },
  { description: 'Queued mail of one pool towards one provider.' },
)
export type QueueLane = Static<typeof QueueLane>
export const QueueLaneList = listOf(QueueLane, 'rows, those with the most deliveries first')

/** POST /queue/preview */
export const QueuePreview = Type.Object(
  {
    object: kind('queue_preview'),
    action: literals(QUEUE_ACTIONS, { description: 'What would be done.' }),
    ...counts,
    sample: Type.Array(Delivery, { description: 'The ten oldest.' }),
  },
  { description: 'What an action would touch.' },
)
export type QueuePreview = Static<typeof QueuePreview>

/** Conditions by name; the reader of spool/queue-filter.ts says which are known. */
const Filter = Type.Record(Type.String(), Type.String(), {
  description:
    'Conditions that must all hold: domain, provider, pool, stream, tag (`name` or `name=value`), state (waiting, held), older_than and newer_than (`2h`), reply (words of the last answer), category, source, email_id, id. team_id is for the team that runs the server: a team, or `all`.',
  examples: [{ provider: 'google', older_than: '2h' }],
})
const given = {
  filter: Type.Optional(Filter),
  pool: Type.Optional(Type.String({ description: 'Where `reroute` moves them.', examples: ['default'] })),
  all: Type.Optional(Type.Boolean({ description: 'Allows `drop` and `expire` without any condition.' })),
  new: Type.Optional(Type.Boolean({ description: 'With `hold`: new mail, too, until that is undone.' })),
}

/** POST /queue/preview */
export const PreviewQueue = Type.Object(
  { action: literals(QUEUE_ACTIONS, { description: 'What is to be done.' }), ...given },
  { description: 'What is to be done, to be looked at before.' },
)

/** POST /queue/hold and the other actions */
export const ChangeQueue = Type.Object(
  {
    ...given,
    expected_count: Type.Optional(
      Type.Integer({ minimum: 0, description: 'Nothing is done when it would touch more than these.' }),
    ),
  },
  { description: 'What is to be done to which deliveries.' },
)

/** POST /queue/undo */
export const UndoQueue = Type.Object(
  { audit_id: Type.String({ format: 'uuid', description: 'The `audit_id` of what is to be taken back.' }) },
  { description: 'What is to be taken back.' },
)

/** Holds new mail; ours. */
export const HoldRule = Type.Object(
  {
    object: kind('hold_rule'),
    id: Id,
    team_id: Nullable(Id, { description: 'Of this team; null: of any.' }),
    domain: Nullable(Type.String(), { description: 'To this domain; null: to any.' }),
    provider: Nullable(Type.String(), { description: 'To this provider; null: to any.' }),
    tag: Nullable(Type.String(), { description: 'With this tag, `name` or `name=value`; null: with any.' }),
    created_at: Timestamp,
  },
  { description: 'A rule that holds new mail. Its id is that of the audit entry, which undoing takes.' },
)
export type HoldRule = Static<typeof HoldRule>
export const HoldRuleList = listOf(HoldRule, 'rules that hold new mail')

/** What the actions answer. */
export const QueueChange = Type.Object(
  {
    object: kind('queue_change'),
    action: literals(QUEUE_ACTIONS, { description: 'What was done.' }),
    count: count('How many deliveries were touched.'),
    audit_id: Id,
    rule: Nullable(HoldRule, { description: 'The rule that was made, or ended; null: none.' }),
  },
  { description: 'What was done to the queue.' },
)
export type QueueChange = Static<typeof QueueChange>
