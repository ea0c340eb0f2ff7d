/** The counters that an event adds to the roll-ups. Pure. */
import { bouncedAbout, type EventData } from '../../mail/event.ts'

/** A query for metrics. Times are Unix milliseconds; a range includes its start and excludes its end. */
export interface MetricsQuery {
  teamId: string
  /** Only these domains; undefined: all. */
  domainIds?: string[] | undefined
  /** Only these mailbox providers; undefined: all. Ignored by `sumEmailMetrics`. */
  providers?: string[] | undefined
  /** The ranges in order, without overlap. Ends within a quarter hour are rounded to whole ones. */
  ranges: readonly { start: number; end: number }[]
  /** For `sumMetrics`: sum over all these domains, with an empty `domainId`. Half the work if many domains send. */
  together?: boolean
  /**
   * For `sumMetrics`: read the sums of this length (`SUMMED` of storage/counters.ts). The ranges must be whole and end
   * before what `metricsSummed` returns. Not for a combination of domains and providers. Undefined: quarter hours.
   */
  length?: number | undefined
}

/** A query for a breakdown by dimension. */
export interface BreakdownQuery extends Omit<MetricsQuery, 'ranges' | 'together'> {
  range: { start: number; end: number }
  by: 'domain' | 'provider' | 'tag'
  /** The counters to sum, and to sort by. */
  counters: readonly string[]
  /** Number of values returned separately: the largest. */
  most: number
}

/** Length of a roll-up in milliseconds. 15 minutes, because some time zones are offset by 45 minutes. */
export const QUARTER = 900_000

/** Returns the roll-up of a time (Unix milliseconds). */
export const quarterOf = (at: number): number => Math.floor(at / QUARTER) * QUARTER

const HOUR = 3_600_000

const DAY = 24 * HOUR

const WEEK = 7 * DAY

/** From a Monday to the start of Unix time, a Thursday. */
const MONDAY = 3 * DAY

/**
 * The dimensions of the sums of past days, and the lengths in milliseconds, longest first. Weeks begin on Monday (ISO
 * 8601).
 */
export const SUMMED = {
  all: [WEEK, DAY, HOUR],
  domain: [WEEK, DAY],
  provider: [WEEK, DAY, HOUR],
} as const

/** A dimension of the sums. */
export type SummedBy = keyof typeof SUMMED

/** Returns the start of the UTC hour, day or week that contains a time. */
export function startOfSum(length: number, at: number): number {
  const off = length === WEEK ? MONDAY : 0
  return Math.floor((at + off) / length) * length - off
}

/** Events whose first occurrence per email is also counted as `unique_…`. */
const UNIQUE = new Set(['email.opened', 'email.clicked'])

/** Reports whether it matters that the event is the first of its type for its email. */
export const countsUnique = (type: string, data: EventData): boolean =>
  UNIQUE.has(type) && data.robot !== true

/**
 * Returns the counters that an event increments. A bounce counts under its SMTP reply class, and again under its
 * category if known. Opens and clicks by bots have their own counters.
 * @param first whether it is the first of its type for its email; only used if `countsUnique`
 */
export function countersOf(type: string, data: EventData, first: boolean): string[] {
  const name = type.slice('email.'.length)
  if (type === 'email.bounced') return bounceCounters(data.bounce)
  if (!UNIQUE.has(type)) return [name]
  if (data.robot === true) return [`${name}_by_robots`]
  return first ? [name, `unique_${name}`] : [name]
}

function bounceCounters(bounce: EventData['bounce']): string[] {
  const bounced = `bounced_${(bounce?.type ?? 'Undetermined').toLowerCase()}`
  return bounce?.category === undefined ? [bounced] : [bounced, bouncedAbout(bounce.category)]
}
