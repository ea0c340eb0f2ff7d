/** API calls for the queue and its lanes. */
import type { Static } from 'typebox'
import type {
  QueueConditions,
  QueueLane,
  QueueLaneList,
  QueueList,
  QueueSummary,
} from '../../../appliance/api/queue.ts'
import type {
  HoldRuleList,
  PreviewQueue,
  QueueChange,
  QueuePreview,
} from '../../../appliance/api/queue-changes.ts'
import type { Lane, LaneList } from '../../../appliance/api/shaping.ts'
import { ApiError, change, postQuery, read, addQueryString } from './client.ts'

export type { Lane, QueueLane, QueueSummary }

export const listQueue = (
  conditions: QueueConditions,
  after: string | null,
  limit: number,
  signal?: AbortSignal,
) => read<Static<typeof QueueList>>(addQueryString('/queue', { ...conditions, limit, after }), signal)

export const getQueueSummary = (conditions: QueueConditions, signal?: AbortSignal) =>
  read<QueueSummary>(addQueryString('/queue/summary', conditions), signal)

export const previewQueue = (ask: PreviewQueue) => postQuery<QueuePreview>('/queue/preview', ask)

/** Performs an action, unless it would change more than `expected` deliveries. */
export const changeQueue = ({ action, ...ask }: PreviewQueue, expected: number) =>
  change<QueueChange>('POST', `/queue/${action}`, { ...ask, expected_count: expected })

/** Undoes the action with the id `audit` in the audit log. A rule that holds new mail has the same id. */
export const undoQueue = (audit: string) => change<QueueChange>('POST', '/queue/undo', { audit_id: audit })

export const listHoldRules = (signal?: AbortSignal) => read<HoldRuleList>('/queue/holds', signal)

/** Lists the queue by pool and provider; each delivery is in one row. */
export const listQueueLanes = (conditions: QueueConditions, signal?: AbortSignal) =>
  read<QueueLaneList>(addQueryString('/queue/lanes', conditions), signal)

/** Returns the lanes; null for teams that don't run the server. */
export async function listLanes(signal?: AbortSignal): Promise<Static<typeof LaneList> | null> {
  try {
    return await read<Static<typeof LaneList>>('/lanes', signal)
  } catch (error) {
    if (error instanceof ApiError && error.status === 403) return null
    throw error
  }
}

/**
 * Pauses a lane.
 * @param minutes null to pause it until it is resumed
 */
export const pauseLane = (lane: string, minutes: number | null) =>
  change<Lane>('POST', `/lanes/${encodeURIComponent(lane)}/pause`, minutes === null ? {} : { minutes })

export const resumeLane = (lane: string) => change<Lane>('POST', `/lanes/${encodeURIComponent(lane)}/resume`)
