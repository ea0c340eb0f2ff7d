/** Labels and sorts queued deliveries, backlogs and lanes. Pure. */
import type { QueueLane } from '../../../appliance/api/queue.ts'
import type { Lane } from '../../../appliance/api/shaping.ts'
import type { Delivery } from '../../../appliance/api/timeline.ts'
import { formatWaitReason, describeWait, type WaitReason } from '../../../appliance/mail/waiting.ts'
import { formatExactTime, parseInstant, getZoneName } from './time.ts'

export type QueueState = QueueLane['state']

/** States that block mail. Rows in these states are listed first, then those with larger backlogs. */
const TROUBLE: readonly QueueState[] = ['no_source', 'no_route', 'paused']

/** Sorts rows with blocked mail first, then by size. Empty rows come last. */
export function sortQueueLanes(rows: readonly QueueLane[]): QueueLane[] {
  const rank = ({ count, state }: QueueLane) => (count === 0 ? 2 : TROUBLE.includes(state) ? 0 : 1)
  return rows.toSorted((a, b) => rank(a) - rank(b) || b.count - a.count)
}

/** Returns the state of a lane that shares its backlog with other lanes. */
export function getLaneState(lane: Lane): QueueState {
  if (lane.paused) return 'paused'
  if (lane.warm_up && lane.warm_up.sent >= lane.warm_up.share) return 'warm_up'
  if (lane.messages_per_minute < lane.most_messages_per_minute) return 'rate_limited'
  return (lane.in_flight ?? 0) > 0 ? 'sending' : 'idle'
}

/** Counts the deliveries of a row by state: `3 due, 2 held`. */
export function describeQueuedCounts({ due, later, held, in_flight }: QueueLane): string {
  const parts: [number, string][] = [
    [due, 'due'],
    [later, 'due later'],
    [held, 'held'],
    [in_flight, 'in flight'],
  ]
  return parts
    .filter(([count]) => count !== 0)
    .map(([count, words]) => `${count.toLocaleString('en')} ${words}`)
    .join(', ')
}

/** Sums a value over lanes. Skips lanes that don't have it. */
export const sumLanes = (lanes: readonly Lane[], value: (lane: Lane) => number | null): number =>
  lanes.reduce((sum, lane) => sum + (value(lane) ?? 0), 0)

/** Returns the messages sent per minute by several lanes in the last hour, oldest first. Empty if no lane has data. */
export function sumLaneMinutes(lanes: readonly Lane[]): number[] {
  const told = lanes.map(({ minutes }) => minutes ?? []).filter(({ length }) => length > 0)
  return (told[0] ?? []).map((_, minute) => told.reduce((sum, one) => sum + (one[minute] ?? 0), 0))
}

/** Describes the messages sent per minute in the last hour, for screen readers. */
export function describeHour(minutes: readonly number[]): string {
  const sum = minutes.reduce((all, count) => all + count, 0)
  return `${sum.toLocaleString('en')} messages in the last hour, peaking at ${Math.max(0, ...minutes)} per minute`
}

const STATE_OF: Record<WaitReason['key'], QueueState> = {
  held: 'held',
  scheduled: 'scheduled',
  deferred: 'retrying',
  in_flight: 'sending',
  paused: 'paused',
  warm_up: 'warm_up',
  rate: 'rate_limited',
  connections: 'due',
  no_source: 'no_source',
  due: 'due',
}

const reasonOf = ({ waiting }: Delivery): WaitReason | null => (waiting?.reason ?? null) as WaitReason | null

/** Returns the state of a queued delivery. */
export function getDeliveryState(delivery: Delivery): QueueState {
  const reason = reasonOf(delivery)
  if (reason === null) return delivery.state === 'held' ? 'held' : 'sending'
  if (reason.key === 'deferred' && delivery.cause?.phase === 'route') return 'no_route'
  return STATE_OF[reason.key]
}

/** Returns the reason of a delivery in one line. */
export function formatDeliveryReason(delivery: Delivery): string {
  const reason = reasonOf(delivery)
  return reason === null ? 'An attempt is in progress' : formatWaitReason(reason)
}

/** Returns the reason as a sentence, with times in the viewer's time zone. */
export function describeDeliveryReason(delivery: Delivery, inUtc: boolean): string {
  const reason = reasonOf(delivery)
  if (reason === null) return 'An attempt is in progress.'
  const until = delivery.waiting?.until ? parseInstant(delivery.waiting.until) : null
  const words = describeWait(reason, until, (at) => `${formatExactTime(at, inUtc)} ${getZoneName(at, inUtc)}`)
  const [first = ''] = words.split(' ', 1)
  // A host name at the start isn't capitalized.
  return `${first.includes('.') ? words : words.charAt(0).toUpperCase() + words.slice(1)}.`
}
