/** Estimates how long sending to a provider takes, from limits and warm-up. Pure. */
import type { Limits } from './settings.ts'

/** What limits sending to a provider: the rate of the broadcast, a warm-up, or the limits of the lanes. */
export const FORECAST_LIMITS = ['rate', 'warm_up', 'lanes'] as const
export type ForecastLimit = (typeof FORECAST_LIMITS)[number]

/** How long sending to a provider takes. */
export interface Forecast {
  /** Display name; empty for providers that aren't known yet. */
  name: string
  /** Estimated hours; null if unknown, or more than 60 days. */
  hours: number | null
  /** What limits sending; null if unknown. */
  limitedBy: ForecastLimit | null
}

/** How long sending takes in total. */
export interface TotalForecast {
  providers: Forecast[]
  /** Estimated hours; null if unknown, or more than 60 days. */
  hours: number | null
}

/** What one source may send to a provider. */
export interface SourceCapacity {
  /** Messages per minute. */
  rate: number
  /** Number of messages allowed today and on the following days; empty without a warm-up. */
  days: readonly number[]
}

const MINUTES = 24 * 60
/** Number of days to look ahead. */
const MOST_DAYS = 60

/**
 * Estimates the hours until `messages` are sent, to one decimal place; null if nothing can be sent, or it takes more
 * than 60 days.
 * @param left minutes until the current day of the warm-up plans ends
 */
export function estimateHours(
  messages: number,
  supplies: readonly SourceCapacity[],
  left: number,
): number | null {
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

/** Tenths of an hour are enough. */
const rounded = (hours: number): number => Math.round(10 * hours) / 10

/**
 * Returns after how many hours each provider has received its messages, if the providers take turns and share a rate of
 * `rate` messages per hour.
 */
export function estimateTurnHours(counts: readonly number[], rate: number): number[] {
  const order = counts.map((count, at) => ({ count, at })).sort((a, b) => a.count - b.count)
  const hours: number[] = []
  let [passed, done] = [0, 0]
  for (const [before, { count, at }] of order.entries()) {
    passed += ((count - done) * (order.length - before)) / rate
    done = count
    hours[at] = passed
  }
  return hours
}

/**
 * Estimates sending to a provider.
 * @param turns hours needed at the rate of the broadcast; 0 without a rate
 */
export function forecastProvider(
  { name, messages, turns }: { name: string; messages: number; turns: number },
  supplies: readonly SourceCapacity[],
  left: number,
): Forecast {
  const hours = estimateHours(messages, supplies, left)
  if (hours === null) return { name, hours, limitedBy: null }
  if (turns > hours) return { name, hours: rounded(turns), limitedBy: 'rate' }
  const free = supplies.map(({ rate }) => ({ rate, days: [] }))
  const warming = hours > (estimateHours(messages, free, left) ?? hours)
  return { name, hours, limitedBy: warming ? 'warm_up' : 'lanes' }
}

/**
 * Estimates the total time: that of the slowest provider, or of all messages at the given rate, if that is longer.
 * Providers that aren't known yet count only for the rate.
 * @param counts messages for each provider, in the order of the forecasts
 */
export function forecastTotal(
  providers: Forecast[],
  counts: readonly number[],
  hourlyRate: number | null,
): TotalForecast {
  const known = providers.filter(({ name }) => name !== '').map(({ hours }) => hours)
  const total = counts.reduce((sum, count) => sum + count, 0)
  const byRate = hourlyRate === null ? [] : [rounded(total / hourlyRate)]
  const all = [...known, ...byRate]
  if (all.length === 0 || all.includes(null)) return { providers, hours: null }
  return { providers, hours: Math.max(...(all as number[])) }
}

/**
 * Returns what a source may send.
 * @param lane the state of the lane; undefined if it hasn't been used yet
 * @param warmUp the warm-up progress of an unused lane; null without a warm-up
 */
export function computeSourceCapacity(
  limits: Limits,
  lane:
    | {
        allowed: { messagesPerMinute: number }
        paused: object | null
        warmUp: { day: number; left: number } | null
      }
    | undefined,
  plan: readonly number[],
  warmUp: { day: number; left: number } | null,
): SourceCapacity {
  if (lane?.paused) return { rate: 0, days: [] }
  const rate = lane?.allowed.messagesPerMinute ?? limits.messagesPerMinute
  if (lane?.warmUp) return { rate, days: [lane.warmUp.left, ...plan.slice(lane.warmUp.day)] }
  if (!lane && warmUp) return { rate, days: [warmUp.left, ...plan.slice(warmUp.day)] }
  return { rate, days: [] }
}
