/** Calls about what waits, and about the lanes that it waits for. */
import type { Static } from 'typebox'
import type {
  HoldRuleList,
  QueueChange,
  QueueLane,
  QueueLaneList,
  QueueList,
  QueuePreview,
  QueueSummary,
} from '../../../appliance/api/queue.ts'
import type { Lane, LaneList } from '../../../appliance/api/shaping.ts'
import type { QueueAction, QueueConditions } from '../state/queue.ts'
import { ApiError, change, question, read } from './client.ts'

export type { Lane, QueueConditions, QueueLane, QueueSummary }

/** What is to be done, and to which deliveries. */
export interface QueueAsk {
  action: QueueAction
  filter: QueueConditions
  /** Where `reroute` moves them. */
  pool?: string
  /** Allows `drop` and `expire` without any condition. */
  all?: boolean
  /** With `hold`: new mail, too. */
  new?: boolean
}

const query = (values: Record<string, string | number | null>) =>
  new URLSearchParams(
    Object.entries(values).flatMap(([name, value]) =>
      value === null || value === '' ? [] : [[name, String(value)]],
    ),
  )

export const listQueue = (
  conditions: QueueConditions,
  after: string | null,
  limit: number,
  signal?: AbortSignal,
) => read<Static<typeof QueueList>>(`/queue?${query({ ...conditions, limit, after })}`, signal)

export const getQueueSummary = (conditions: QueueConditions, signal?: AbortSignal) =>
  read<QueueSummary>(`/queue/summary?${query(conditions)}`, signal)

export const previewQueue = (ask: QueueAsk) => question<QueuePreview>('/queue/preview', ask)

/** Does it, unless it would touch more than `expected` deliveries. */
export const changeQueue = ({ action, ...ask }: QueueAsk, expected: number) =>
  change<QueueChange>('POST', `/queue/${action}`, { ...ask, expected_count: expected })

/** Takes back what was written down as `audit`; a rule that holds new mail has the same id. */
export const undoQueue = (audit: string) => change<QueueChange>('POST', '/queue/undo', { audit_id: audit })

export const listHoldRules = (signal?: AbortSignal) =>
  read<Static<typeof HoldRuleList>>('/queue/holds', signal)

/** By pool and provider; each delivery is in one row. */
export const listQueueLanes = (conditions: QueueConditions, signal?: AbortSignal) =>
  read<Static<typeof QueueLaneList>>(`/queue/lanes?${query(conditions)}`, signal)

/** Null for teams that do not run the server. */
export async function listLanes(signal?: AbortSignal): Promise<Static<typeof LaneList> | null> {
  try {
    return await read<Static<typeof LaneList>>('/lanes', signal)
  } catch (error) {
    if (error instanceof ApiError && error.status === 403) return null
    throw error
  }
}

/** @param minutes null: until it is resumed */
export const pauseLane = (lane: string, minutes: number | null) =>
  change<Lane>('POST', `/lanes/${encodeURIComponent(lane)}/pause`, minutes === null ? {} : { minutes })

export const resumeLane = (lane: string) => change<Lane>('POST', `/lanes/${encodeURIComponent(lane)}/resume`)
