/** How long sending to a provider takes, as far as limits and warm-up tell. Pure. */
import type { Limits } from './settings.ts'

/** What one source may send to a provider. */
export interface Supply {
  /** Messages per minute. */
  rate: number
  /** Messages of today and the following days; empty: no warm-up limits it. */
  days: readonly number[]
}

const MINUTES = 24 * 60
/** Days that are looked ahead. */
const MOST_DAYS = 60

/**
 * Hours until `messages` are sent, with a decimal; null: nothing can be sent, or it takes more than 60 days.
 * @param left minutes until the day of the warm-up plans ends
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

/** The supply of a source. @param lane what is known of it; undefined: nothing was sent on it yet */
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
