/** Warm-up: limits what a new sending IP may send to a provider on each of its first days. Pure. */
import type { LaneState, Signal } from './lane-state.ts'
import type { Provider } from './providers.ts'

/** Formats times for sentences, always in UTC, because the reader may be in another zone than the server. */

/** `14:31`. */
function clock(at: number): string {
  return new Date(at).toISOString().slice(11, 16)
}

/** Formats a time as `14:31 UTC`, with the date unless it is today. */
export function formatMoment(at: number, now: number): string {
  const day = utcDay(at)
  return day === utcDay(now) ? `${clock(at)} UTC` : `${day} ${clock(at)} UTC`
}

/** `2026-11-21`. */
export function utcDay(at: number): string {
  return new Date(at).toISOString().slice(0, 10)
}

/** Returns when the next UTC day begins. */
export function nextMidnight(now: number): number {
  return (Math.floor(now / 86_400_000) + 1) * 86_400_000
}

const day = 86_400_000

/** Minimum number of recipients on a day before objections can make it a bad day. */
const LEAST_MESSAGES = 50
/** A day is bad if the provider objects to more than this share of its recipients. */
const BAD_SHARE = 0.1

/** The progress of a warm-up. */
export interface WarmUp {
  /** Current day of the plan, starting at 1. */
  day: number
  /** Number of messages allowed today. */
  share: number
  sent: number
  left: number
}

/**
 * Returns the progress of a warm-up; null if the plan is complete, or there is none.
 * @param since when the warm-up began; null if the source is warm
 */
export function getWarmUpProgress(
  state: LaneState,
  since: number | null,
  plan: readonly number[],
  now: number,
): WarmUp | null {
  if (since === null || plan.length === 0) return null
  // Count UTC days, as the plan does. Setting the clock back must not give a negative day.
  const passed = Math.max(0, Math.floor(now / day) - Math.floor(since / day))
  const at = Math.max(0, passed - (state.warmUp.since === since ? state.warmUp.setbacks : 0))
  const share = plan[at]
  if (share === undefined) return null
  const sent = state.today.day === utcDay(now) ? state.today.sent : 0
  return { day: at + 1, share, sent, left: Math.max(0, share - sent) }
}

/** Adds a conversation's recipients to the day's counts, unless it reached no server. */
export function updateDailyCounts(state: LaneState, { kind, recipients }: Signal, now: number): LaneState {
  if (kind === 'silent') return state
  const today = utcDay(now)
  const before = state.today.day === today ? state.today : { day: today, sent: 0, complained: 0 }
  const complained = kind === 'reputation' ? recipients : 0
  return {
    ...state,
    today: { day: today, sent: before.sent + recipients, complained: before.complained + complained },
  }
}

/**
 * Repeats a day of the plan after a bad day, at most once per day. A day is bad if the provider paused the lane, or
 * objected to more than a tenth of the mail. Today's limit becomes that of the previous day, and tomorrow's limit
 * becomes today's; growth continues after a day without complaints.
 */
export function applyWarmUpSetback(
  state: LaneState,
  { since, paused }: { since: number | null; paused: boolean },
  { warmUp: plan }: Provider,
  now: number,
): LaneState {
  const where = getWarmUpProgress(state, since, plan, now)
  const today = utcDay(now)
  if (where === null || (state.warmUp.since === since && state.warmUp.badDay === today)) return state
  const { sent, complained } = state.today
  const many = sent >= LEAST_MESSAGES && complained / sent > BAD_SHARE
  if (!many && !paused) return state
  const before = state.warmUp.since === since ? state.warmUp.setbacks : 0
  // The first day can only be repeated.
  const setbacks = before + 1
  return {
    ...state,
    warmUp: { since, setbacks, badDay: today },
    reason: {
      key: 'warm_up_setback',
      messages: plan[Math.max(0, where.day - 2)]!,
      sent,
      complained,
      because: paused ? state.reason : null,
    },
    reasonAt: now,
  }
}
