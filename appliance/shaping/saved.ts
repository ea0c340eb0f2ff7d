/** Serializes the state of a lane. Pure. */
import type { LaneReason } from '../mail/waiting.ts'
import type { LaneState } from './lane-state.ts'
import { createLaneState } from './lane.ts'
import type { Limits } from './settings.ts'

/** Returns the public id of a lane: `192.0.2.7~google`. */
export function laneId(source: string, provider: string): string {
  return `${source}~${provider}`
}

/** Parses an id from `laneId`; undefined if the format is different. */
export function parseLaneId(id: string): { source: string; provider: string } | undefined {
  const at = id.indexOf('~')
  if (at <= 0 || at === id.length - 1) return undefined
  return { source: id.slice(0, at), provider: id.slice(at + 1) }
}

/** Serializes a lane's state. */
export function serializeLane(state: LaneState): string {
  return JSON.stringify(state)
}

/**
 * Parses a saved state. Resets missing or invalid values: sending too slowly for an hour is better than a daemon that
 * doesn't start.
 */
export function parseLane(text: string, limits: Limits): LaneState {
  const fresh = createLaneState(limits)
  let saved: unknown
  try {
    saved = JSON.parse(text)
  } catch {
    // Not JSON, so nothing can be recovered.
    return fresh
  }
  if (typeof saved !== 'object' || saved === null) return fresh
  const state = { ...fresh, ...(saved as Partial<LaneState>) }
  state.reason = reasonOf(state.reason)
  // If the pace is invalid, reset only the pace and keep the pause.
  if (!Number.isFinite(state.pace?.rate) || !state.pace.accepted || !state.pace.run) state.pace = fresh.pace
  const sound = [state.connections, state.next, state.nextMail, state.cutAt].every((one) =>
    Number.isFinite(one),
  )
  return sound ? state : fresh
}

/** Converts a reason. Older versions saved a sentence. */
function reasonOf(saved: unknown): LaneReason | null {
  if (typeof saved === 'string') return { key: 'text', text: saved }
  return typeof saved === 'object' && saved !== null && 'key' in saved ? (saved as LaneReason) : null
}
