/** How lanes are shown: what state each is in, and in which order. Pure. */
import type { QueueSummary } from '../../../appliance/http/schemas/queue.ts'
import type { Lane } from '../../../appliance/http/schemas/shaping.ts'

/** The states of a lane: nothing leaves · it got less for a reason · its address is new · it has all it may have. */
export type LaneState = 'paused' | 'slowed' | 'warming' | 'open'

/** A lane begins with some of its connections and earns the others: that alone is not slow. */
export function laneState(lane: Lane): LaneState {
  if (lane.paused) return 'paused'
  if (lane.messages_per_minute < lane.most_messages_per_minute) return 'slowed'
  return lane.warm_up ? 'warming' : 'open'
}

/** A lane with what waits for its provider, from whatever address. */
export interface LaneRow {
  lane: Lane
  state: LaneState
  waiting: number
}

const ORDER: readonly LaneState[] = ['paused', 'slowed', 'warming', 'open']

/** Lanes that keep mail waiting first, then by what waits, then by what goes. */
export function laneRows(lanes: readonly Lane[], providers: QueueSummary['providers']): LaneRow[] {
  const rows = lanes.map((lane) => ({
    lane,
    state: laneState(lane),
    waiting: providers.find(({ provider }) => provider === lane.provider)?.waiting ?? 0,
  }))
  const trouble = ({ state, waiting }: LaneRow) => (waiting > 0 ? ORDER.indexOf(state) : ORDER.length)
  const sent = ({ lane }: LaneRow) => (lane.minutes ?? []).reduce((sum, count) => sum + count, 0)
  return rows.sort(
    (a, b) =>
      trouble(a) - trouble(b) ||
      b.waiting - a.waiting ||
      ORDER.indexOf(a.state) - ORDER.indexOf(b.state) ||
      sent(b) - sent(a),
  )
}
