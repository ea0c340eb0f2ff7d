/** The counters that an event adds to the roll-ups. Pure. */
import { getBounceCategoryCounter, type EventData } from '../../mail/event.ts'

/** A query for metrics. Times are Unix milliseconds; a range includes its start and excludes its end. */
export interface MetricsQuery {
  teamId: string
  /** Domains to include; undefined for all. */
  domainIds?: string[] | undefined
  /** Mailbox providers to include; undefined for all. Ignored by `sumEmailMetrics`. */
  providers?: string[] | undefined
  /** The ranges in order, without overlap. Ends within a quarter hour are rounded to whole quarter hours. */
  ranges: readonly { start: number; end: number }[]
  /**
   * For `sumMetrics`: whether to sum over all these domains, with an empty `domainId`. That is half the work if many
   * domains send.
   */
  together?: boolean
  /**
   * For `sumMetrics`: length of the sums to read (see `SUM_LENGTHS`); undefined for quarter hours. The ranges must
   * consist of whole sums and end before the time that `metricsSummed` returns. Can't be used with a combination of
   * domains and providers.
   */
  length?: number | undefined
}

/** A query for a breakdown by dimension. */
export interface BreakdownQuery extends Omit<MetricsQuery, 'ranges' | 'together'> {
  range: { start: number; end: number }
  by: 'domain' | 'provider' | 'tag'
  /** The counters to sum and to sort by. */
  counters: readonly string[]
  /** Number of values that are returned separately, starting with the largest. */
  most: number
}

/** Length of a roll-up in milliseconds. 15 minutes, because some time zones are offset by 45 minutes. */
export const QUARTER_HOUR_MS = 900_000

/** Returns the start of the roll-up that contains a time (Unix milliseconds). */
export const startOfQuarterHour = (at: number): number => Math.floor(at / QUARTER_HOUR_MS) * QUARTER_HOUR_MS

const HOUR = 3_600_000

const DAY = 24 * HOUR

const WEEK = 7 * DAY

/** Time from a Monday to the weekday of the Unix epoch, a Thursday. */
const MONDAY = 3 * DAY

/**
 * The dimensions of the sums of past days, with the lengths of the sums in milliseconds, longest first. Weeks begin on
 * Monday (ISO 8601).
 */
export const SUM_LENGTHS = {
  all: [WEEK, DAY, HOUR],
  domain: [WEEK, DAY],
  provider: [WEEK, DAY, HOUR],
} as const

/** A dimension of the sums. */
export type SumDimension = keyof typeof SUM_LENGTHS

/** Returns the start of the UTC hour, day or week that contains a time. */
export function startOfSum(length: number, at: number): number {
  const off = length === WEEK ? MONDAY : 0
  return Math.floor((at + off) / length) * length - off
}

/** Event types whose first occurrence per email is also counted as `unique_…`. */
const UNIQUE = new Set(['email.opened', 'email.clicked'])

/** Whether an event is also counted as `unique_…` if it is the first of its type for its email. */
export const isCountedUniquely = (type: string, data: EventData): boolean =>
  UNIQUE.has(type) && data.robot !== true

/**
 * Returns the counters that an event increments. A bounce is counted under its SMTP reply class, and under its category
 * if known. Opens and clicks by bots have separate counters.
 * @param first whether the event is the first of its type for its email; used only if `isCountedUniquely` returns true
 */
export function listCounters(type: string, data: EventData, first: boolean): string[] {
  const name = type.slice('email.'.length)
  if (type === 'email.bounced') return bounceCounters(data.bounce)
  if (!UNIQUE.has(type)) return [name]
  if (data.robot === true) return [`${name}_by_robots`]
  return first ? [name, `unique_${name}`] : [name]
}

function bounceCounters(bounce: EventData['bounce']): string[] {
  const bounced = `bounced_${(bounce?.type ?? 'Undetermined').toLowerCase()}`
  return bounce?.category === undefined ? [bounced] : [bounced, getBounceCategoryCounter(bounce.category)]
}
