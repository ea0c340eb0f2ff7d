/**
 * Calculates how much a lane can take now, and how much to lease before a connection is free, so that no connection is
 * idle while a lease is committed. Pure; times in Unix milliseconds.
 */
import {
  getCurrentLimits,
  isPaused,
  nextMidnight,
  computeResumeTime,
  availableCapacity,
  getWarmUpProgress,
  type Provider,
} from '../shaping/shaping.ts'
import type { Lane } from './lane-history.ts'

/**
 * Returns how many messages a lane could start now with `more` connections. On each connection, the result of only one
 * earlier message may still be unsaved, because messages with unsaved results are sent again after a crash.
 */
export function computeCapacity(lane: Lane, provider: Provider, now: number, more = 0): number {
  if (more < Infinity && isAtInFlightLimit(lane, provider, now)) return 0
  const free = availableCapacity(lane.state, provider.limits, lane.open - more, now)
  const warm = getWarmUpProgress(lane.state, lane.source.warmUpSince, provider.warmUp, now)
  return warm === null ? free : Math.min(free, Math.max(0, warm.left - lane.recipients))
}

/** Returns when a full lane regains capacity over time; null when it must wait for a conversation or an operator. */
export function computeReopenTime(lane: Lane, provider: Provider, now: number): number | null {
  if (computeCapacity(lane, provider, now) > 0) return now
  const warm = getWarmUpProgress(lane.state, lane.source.warmUpSince, provider.warmUp, now)
  const used = warm !== null && warm.left - lane.recipients <= 0
  const opens = computeResumeTime(lane.state, now)
  if (isPaused(lane.state, now) || !used) return opens !== null && opens > now ? opens : null
  return nextMidnight(now)
}

/** Whether as many messages are in flight or unsaved as a lane may have: two per connection. */
export function isAtInFlightLimit(
  { state, open, unsettled }: Lane,
  { limits }: Provider,
  now: number,
): boolean {
  return open + unsettled >= 2 * getCurrentLimits(state, limits, now).connections
}

/** Returns the earliest of the given times; null when all are null. */
export function earliest(times: (number | null)[]): number | null {
  const known = times.filter((time) => time !== null)
  return known.length === 0 ? null : Math.min(...known)
}

/**
 * How long ago a conversation may have ended to count as recent, in milliseconds. Leasing, routing and signing take a
 * few milliseconds, and twice that on a busy machine.
 */
const LATELY_MS = 20

/** Returns how much may be leased for a lane beyond its free connections. */
export const computeLeaseAheadLimit = (lane: Lane, { limits }: Provider, now: number): number =>
  computeLeaseAhead(lane.ended, getCurrentLimits(lane.state, limits, now).connections, now)

/**
 * Returns how many deliveries to lease beyond the free connections: as many as just ended on the lane, at most one per
 * connection. A slow server gets none, so that nothing waits here that could be held, dropped or overtaken in the
 * queue.
 * @param ended when the last conversations ended, in order
 */
export function computeLeaseAhead(ended: readonly number[], connections: number, now: number): number {
  const lately = ended.filter((at) => at <= now && now - at < LATELY_MS).length
  return Math.min(lately, connections)
}

/** Adds the time of a conversation that ended; keeps as many times as `computeLeaseAhead` can need. */
export function addEndTime(ended: readonly number[], connections: number, now: number): number[] {
  return [...ended, now].slice(-connections)
}
