import type * as schema from '../http/schemas/queue.ts'
import type { Delivery as TimelineDelivery } from '../api/timeline.ts'
import type { QueueAction } from '../mail/queue-action.ts'
import { waitLine } from '../mail/waiting.ts'
import type { BacklogCount, QueueLaneFacts } from '../shaping/shaping.ts'
import type { QueueChange, QueuePreview, QueueSummary } from '../spool/queue.ts'
import type { HoldRule } from '../storage/storage.ts'
import { presentLane } from '../api/shaping.ts'
import { timestamp, timestampOrNull } from '../api/timestamp.ts'

const counts = (summary: QueueSummary) => ({
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

/** GET /queue/summary */
export function presentQueueSummary(summary: QueueSummary): schema.QueueSummary {
  return { object: 'queue_summary', ...counts(summary) }
}

/** A row of GET /queue/lanes. @param whole whether the lanes are told, which carry the mail of all teams */
export function presentQueueLane(
  { counted, name, state, reason, until, lanes }: QueueLaneFacts<BacklogCount & { oldestAt?: number }>,
  whole: boolean,
): schema.QueueLane {
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
    why: reason && waitLine(reason),
    until: timestampOrNull(until),
    lanes: whole ? lanes.map(presentLane) : [],
  }
}

/** POST /queue/preview. @param sample the preview's sample as `presentDelivery` shows it */
export function presentQueuePreview(
  action: QueueAction,
  preview: QueuePreview,
  sample: TimelineDelivery[],
): schema.QueuePreview {
  return { object: 'queue_preview', action, ...counts(preview), sample }
}

/** A rule that holds new mail. */
export function presentHoldRule({ id, teamId, domain, provider, tag, createdAt }: HoldRule): schema.HoldRule {
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

/** What the actions of the queue answer. */
export function presentQueueChange({ action, count, auditId, rule }: QueueChange): schema.QueueChange {
  return {
    object: 'queue_change',
    action,
    count,
    audit_id: auditId,
    rule: rule && presentHoldRule(rule),
  }
}
