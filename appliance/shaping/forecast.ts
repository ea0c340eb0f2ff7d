/** Estimates how long sending to a provider takes, from limits and warm-up. Pure. */
import type { Limits } from './settings.ts'

/** How long sending to a provider takes. */
export interface Forecast {
  /** Display name; empty for providers that aren't known yet. */
  name: string
  /** Null: not known, or more than 60 days. */
  hours: number | null
}

/** What one source may send to a provider. */
export interface Supply {
  /** Messages per minute. */
  rate: number
  /** Messages allowed today and on the following days; empty without a warm-up. */
  days: readonly number[]
}

const MINUTES = 24 * 60
/** How many days to look ahead. */
const MOST_DAYS = 60

/**
 * Estimates the hours until `messages` are sent, with a decimal; null when nothing can be sent, or it takes more than
 * 60 days.
 * @param left minutes until the current day of the warm-up plans ends
 */
export function hoursFor(messages: number, supplies: readonly Supply[], left: number): number | null {
  let [rest, passed] = [messages, 0]
  for (let day = 0; day < MOST_DAYS; day++) {
    const minutes = day === 0 ? left : MINUTES
    const shares = supplies.map(({ rate, days }) => Math.min(rate * minutes, days[day] ?? Infinity))
    const most = shares.reduce((sum, share) => sum + share, 0)
    if (most >= rest) {
      const rate = supplies.reduce((sum, one, i) => sum + (shares[i]! > 0 ? one.rate : 0), 0)
      return Math.round((10 * (passed + (rest === 0 ? 0 : rest / rate))) / 60) / 10
    }
    rest -= most
    passed += minutes
  }
  return null
}

/** Returns what a source may send. @param lane its state; undefined when nothing was sent on it yet */
export function supplyOf(
  limits: Limits,
  lane:
    | {
        allowed: { messagesPerMinute: number }
        paused: object | null
        warmUp: { day: number; left: number } | null
      }
    | undefined,
  plan: readonly number[],
  warming: boolean,
): Supply {
  if (lane?.paused) return { rate: 0, days: [] }
  const rate = lane?.allowed.messagesPerMinute ?? limits.messagesPerMinute
  if (lane?.warmUp) return { rate, days: [lane.warmUp.left, ...plan.slice(lane.warmUp.day)] }
  return { rate, days: !lane && warming ? plan : [] }
}
