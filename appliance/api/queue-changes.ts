/** Changes to queued deliveries: the actions with their preview and undo, and the rules that hold new mail. */
import { Type, type Static } from 'typebox'
import { QUEUE_ACTIONS, type QueueAction } from '../mail/queue.ts'
import type { QueueChange as StoredQueueChange, QueuePreview as StoredQueuePreview } from '../queue/queue.ts'
import type { HoldRule as StoredHoldRule } from '../storage/storage.ts'
import { operationsIn } from './operation.ts'
import { idSchema } from './parameters.ts'
import { counts, presentQueueCounts } from './queue.ts'
import {
  array,
  boolean,
  count,
  integer,
  kind,
  literals,
  Nullable,
  object,
  record,
  string,
} from './schemas.ts'
import { Id, listOf, Timestamp } from './shared.ts'
import { Delivery, type Delivery as TimelineDelivery } from './timeline.ts'
import { timestamp } from './timestamp.ts'

export const QueuePreview = object('What an operation would change.', {
  object: kind('queue_preview'),
  action: literals(QUEUE_ACTIONS, 'The operation.'),
  ...counts,
  sample: array(Delivery, 'The ten oldest deliveries.'),
})
export type QueuePreview = Static<typeof QueuePreview>

/** Conditions by name; queue/filter.ts checks which are valid. */
const Filter = record(
  Type.String(),
  'Conditions that must all match: domain, provider, pool, stream, tag (`name` or `name=value`), state (waiting, held), older_than and newer_than (`2h`), reply (words of the last reply), category, source, email_id, id. team_id is for the team that operates the server: a team, or `all`.',
  { examples: [{ provider: 'google', older_than: '2h' }] },
)
const given = {
  filter: Type.Optional(Filter),
  pool: Type.Optional(string('The target pool of `reroute`.', { examples: ['default'] })),
  all: Type.Optional(boolean('Allows `drop` and `expire` without any condition.')),
  new: Type.Optional(boolean('With `hold`: also hold new mail, until released or undone.')),
}

export const PreviewQueue = object('The operation to preview.', {
  action: literals(QUEUE_ACTIONS, 'The operation.'),
  ...given,
})
export type PreviewQueue = Static<typeof PreviewQueue>

/** POST /queue/hold and the other actions */
export const ChangeQueue = object('The operation, and the deliveries it applies to.', {
  ...given,
  expected_count: Type.Optional(count('Nothing is changed if more deliveries than this match.')),
})

export const UndoQueue = object('The operation to undo.', {
  audit_id: idSchema('The `audit_id` of the operation to undo.'),
})

/** A rule that holds new mail. Not part of the hosted API. */
export const HoldRule = object(
  'A rule that holds new mail. Its id is the id of the audit entry, which `POST /queue/undo` takes.',
  {
    object: kind('hold_rule'),
    id: Id,
    team_id: Nullable(Id, 'Only this team; null: any.'),
    domain: Nullable(Type.String(), 'Only this recipient domain; null: any.'),
    provider: Nullable(Type.String(), 'Only this provider; null: any.'),
    tag: Nullable(Type.String(), 'Only this tag, `name` or `name=value`; null: any.'),
    created_at: Timestamp,
  },
)
export type HoldRule = Static<typeof HoldRule>
export const HoldRuleList = listOf(HoldRule, 'rules that hold new mail')
export type HoldRuleList = Static<typeof HoldRuleList>

/** The response to an action. */
export const QueueChange = object('The result of a queue operation.', {
  object: kind('queue_change'),
  action: literals(QUEUE_ACTIONS, 'The operation.'),
  count: integer('Number of changed deliveries.'),
  audit_id: Id,
  rule: Nullable(HoldRule, 'The rule that was created or ended; null: none.'),
})
export type QueueChange = Static<typeof QueueChange>

const operation = operationsIn('Queue')

export const listHoldRules = operation('GET /queue/holds', {
  summary: 'List the rules that hold new mail',
  description: 'To end a rule, call `POST /queue/undo` with its id.',
  response: { 200: HoldRuleList },
})
export const previewQueueChange = operation('POST /queue/preview', {
  summary: 'Preview a queue operation',
  description: 'Counts, and the ten oldest deliveries. Changes nothing.',
  body: PreviewQueue,
  response: { 200: QueuePreview },
})
const change = (route: `POST /${string}`, summary: string, description: string) =>
  operation(route, {
    summary,
    description,
    body: ChangeQueue,
    response: { 200: QueueChange },
    errors: ['409'],
  })

export const holdQueue = change(
  'POST /queue/hold',
  'Hold deliveries',
  'No further attempts until released; attempts in progress finish. With `new`, a rule also holds new mail with the same domain, provider, team and tag.',
)
export const releaseQueue = change(
  'POST /queue/release',
  'Release held deliveries',
  'Only the team that operates the server can release deliveries that it held.',
)
export const retryQueue = change(
  'POST /queue/retry',
  'Retry deliveries now',
  'Makes the deliveries due now. The limits of their lanes still apply.',
)
export const rerouteQueue = change(
  'POST /queue/reroute',
  'Move deliveries to another pool',
  'Applies to the next attempt. For the team that operates the server.',
)
export const expireQueue = change(
  'POST /queue/expire',
  'Expire deliveries',
  'Treats them as if the retry period had ended: they bounce, and the sender gets a report. Cannot be undone.',
)
export const dropQueue = change('POST /queue/drop', 'Drop deliveries', 'Cannot be undone.')
export const undoQueueChange = operation('POST /queue/undo', {
  summary: 'Undo a queue operation',
  description: 'A hold with its rule, a release or a reroute, for deliveries that were not changed since.',
  body: UndoQueue,
  response: { 200: QueueChange },
  errors: ['409'],
})

/** Formats the response of POST /queue/preview. @param sample deliveries formatted by `presentDelivery` */
export function presentQueuePreview(
  action: QueueAction,
  preview: StoredQueuePreview,
  sample: TimelineDelivery[],
): QueuePreview {
  return { object: 'queue_preview', action, ...presentQueueCounts(preview), sample }
}

/** Formats a rule that holds new mail. */
export function presentHoldRule({ id, teamId, domain, provider, tag, createdAt }: StoredHoldRule): HoldRule {
  return {
    object: 'hold_rule',
    id,
    team_id: teamId,
    domain,
    provider,
    tag: tag && (tag.value === null ? tag.name : `${tag.name}=${tag.value}`),
    created_at: timestamp(createdAt),
  }
}

/** Formats the response to an action. */
export function presentQueueChange({ action, count, auditId, rule }: StoredQueueChange): QueueChange {
  return {
    object: 'queue_change',
    action,
    count,
    audit_id: auditId,
    rule: rule && presentHoldRule(rule),
  }
}
