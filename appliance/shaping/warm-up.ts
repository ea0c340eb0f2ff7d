/** Warm-up: how much a new source address may send to a provider on each of its first days. Pure. */
import type { LaneState, Signal } from './lane.ts'
import type { Provider } from './providers.ts'

/** Times in sentences. Always UTC: the person who reads it may sit elsewhere than the server. */

/** `14:31`. */
function clock(at: number): string {
  return new Date(at).toISOString().slice(11, 16)
}

/** `14:31 UTC`, with the day where it is not today's. */
export function moment(at: number, now: number): string {
  const day = utcDay(at)
  return day === utcDay(now) ? `${clock(at)} UTC` : `${day} ${clock(at)} UTC`
}

/** `2026-11-21`. */
export function utcDay(at: number): string {
  return new Date(at).toISOString().slice(0, 10)
}

/** When the next day of UTC begins. */
export function nextMidnight(now: number): number {
  return (Math.floor(now / 86_400_000) + 1) * 86_400_000
}

const day = 86_400_000

/** Complaints about the address count as bad from so many messages of a day on, … */
const LEAST_MESSAGES = 50
/** … when more than this share of them was deferred for its reputation. */
const BAD_SHARE = 0.1

/** Where a warm-up stands. */
export interface WarmUp {
  /** 1 for the first day of the plan. */
  day: number
  /** Messages for today. */
  share: number
  sent: number
  left: number
}

/**
 * Where a warm-up stands; null when the plan is done, or there is none.
 * @param since when it began; null: the source is warm
 */
export function warmUpOf(
  state: LaneState,
  since: number | null,
  plan: readonly number[],
  now: number,
): WarmUp | null {
  if (since === null || plan.length === 0) return null
  // Days of UTC, as people read them in the plan. A clock that was set back makes no negative day.
  const passed = Math.max(0, Math.floor(now / day) - Math.floor(since / day))
  const at = Math.max(0, passed - (state.warmUp.since === since ? state.warmUp.setbacks : 0))
  const share = plan[at]
  if (share === undefined) return null
  const sent = state.today.day === utcDay(now) ? state.today.sent : 0
  return { day: at + 1, share, sent, left: Math.max(0, share - sent) }
}

/** Counts a conversation's recipients to the day; nobody saw those of a conversation that reached nobody. */
export function countedToday(state: LaneState, { kind, recipients }: Signal, now: number): LaneState {
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
 * A step back on a bad day, once a day: a provider that paused us, or that complained of more than a tenth of the day's mail. Today
 * as much as on the day before, tomorrow as much as today was to be; it grows on with the first day without complaints.
 */
export function warmUpJudged(
  state: LaneState,
  { since, paused }: { since: number | null; paused: boolean },
  { warmUp: plan }: Provider,
  now: number,
): LaneState {
  const where = warmUpOf(state, since, plan, now)
  const today = utcDay(now)
  if (where === null || (state.warmUp.since === since && state.warmUp.badDay === today)) return state
  const { sent, complained } = state.today
  const many = sent >= LEAST_MESSAGES && complained / sent > BAD_SHARE
  if (!many && !paused) return state
  const before = state.warmUp.since === since ? state.warmUp.setbacks : 0
  // From the first day there is no way back, only another one like it.
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
