/** What an event adds to the roll-ups. Pure; the two places that write events (`sqlite/record-event.ts`, `methods/events.ts`) share it. */
import { bouncedAbout } from '../../mail/counted.ts'
import type { EventData } from '../../mail/event.ts'

/** Which numbers are asked for. Times are Unix milliseconds; a range includes its start and ends before its end. */
export interface MetricsQuery {
  teamId: string
  /** Only these domains; undefined: all. */
  domainIds?: string[] | undefined
  /** Only these mailbox providers; undefined: all. Not heeded by `sumEmailMetrics`. */
  providers?: string[] | undefined
  /** The ranges, in their order and not overlapping; ends that are no quarter of an hour count whole quarters. */
  ranges: readonly { start: number; end: number }[]
  /** Of `sumMetrics`: the sums are of all these domains together, and their `domainId` is empty. Half the work where many send. */
  together?: boolean
  /**
   * Of `sumMetrics`: read the sums of this length (`SUMMED` of storage/counters.ts), where the ranges are whole and end before
   * what `metricsSummed` tells. Not for both domains and providers. Undefined: quarters of an hour.
   */
  length?: number | undefined
}

/** What a range is broken down by, and how far. */
export interface BreakdownQuery extends Omit<MetricsQuery, 'ranges' | 'together'> {
  range: { start: number; end: number }
  by: 'domain' | 'provider' | 'tag'
  /** Counters that matter: sums are of these, and size is too. */
  counters: readonly string[]
  /** How many values are told one by one: the largest. */
  most: number
}

/** Length of a roll-up in milliseconds: a quarter of an hour, since some time zones are 45 minutes off. */
export const QUARTER = 900_000

/** The roll-up that an instant belongs to (Unix milliseconds). */
export const quarterOf = (at: number): number => Math.floor(at / QUARTER) * QUARTER

const HOUR = 3_600_000

const DAY = 24 * HOUR

const WEEK = 7 * DAY

/** From a Monday to the first instant of Unix time, a Thursday. */
const MONDAY = 3 * DAY

/** What the sums of days that are over are made for: the lengths in milliseconds, the longest first. Weeks begin on Monday (ISO 8601). */
export const SUMMED = {
  all: [WEEK, DAY, HOUR],
  domain: [WEEK, DAY],
  provider: [WEEK, DAY, HOUR],
} as const

/** What sums are told apart by. */
export type SummedBy = keyof typeof SUMMED

/** Start of the hour, day or week of UTC that an instant is in. */
export function startOfSum(length: number, at: number): number {
  const off = length === WEEK ? MONDAY : 0
  return Math.floor((at + off) / length) * length - off
}

/** Events whose first one for an email is counted once more, as `unique_…`. */
const UNIQUE = new Set(['email.opened', 'email.clicked'])

/** Whether it matters that the event is the first of its kind for its email. */
export const countsUnique = (type: string, data: EventData): boolean =>
  UNIQUE.has(type) && data.robot !== true

/**
 * Names of the counters that an event raises. Bounces are told apart by their class on the wire, and counted once more by what
 * they were about, where that was told; what machines open and click is counted for itself.
 * @param first it is the first of its kind for its email; looked at where `countsUnique`
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
