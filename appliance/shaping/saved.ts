/** How the state of a lane is written down, and read again. Pure. */
import type { LaneReason } from '../mail/waiting.ts'
import type { LaneState } from './lane.ts'
import { freshLane } from './lane.ts'
import type { Limits } from './settings.ts'

/** The name of a lane outside: `192.0.2.7~google`. */
export function laneId(source: string, provider: string): string {
  return `${source}~${provider}`
}

/** What `laneId` wrote; undefined for anything else. */
export function parseLaneId(id: string): { source: string; provider: string } | undefined {
  const at = id.indexOf('~')
  if (at <= 0 || at === id.length - 1) return undefined
  return { source: id.slice(0, at), provider: id.slice(at + 1) }
}

/** A lane's state as it is saved. */
export function writeLane(state: LaneState): string {
  return JSON.stringify(state)
}

/**
 * A saved state. What a later version left out, or nobody can read, begins anew: a lane that is too careful for an hour is better
 * than a daemon that does not start.
 */
export function readLane(text: string, limits: Limits): LaneState {
  const fresh = freshLane(limits)
  let saved: unknown
  try {
    saved = JSON.parse(text)
  } catch {
    // Not JSON: nothing of it can be used.
    return fresh
  }
  if (typeof saved !== 'object' || saved === null) return fresh
  const state = { ...fresh, ...(saved as Partial<LaneState>) }
  state.reason = reasonOf(state.reason)
  // Without it, at least a pause is kept.
  if (!Number.isFinite(state.pace?.rate) || !state.pace.accepted || !state.pace.run) state.pace = fresh.pace
  const sound = [state.connections, state.next, state.nextMail, state.cutAt].every((one) =>
    Number.isFinite(one),
  )
  return sound ? state : fresh
}

/** Earlier versions saved a sentence. */
function reasonOf(saved: unknown): LaneReason | null {
  if (typeof saved === 'string') return { key: 'text', text: saved }
  return typeof saved === 'object' && saved !== null && 'key' in saved ? (saved as LaneReason) : null
}
