/** Parses metrics queries (reference: wire format §2.2). Pure. */
import { isId } from '../mail/ids.ts'
import { isRegionName } from '../mail/region.ts'
import { refuse } from '../mail/refusals.ts'
import { METRICS, type Metric } from './metrics-names.ts'
import { toInstant, findZone, type Granularity, type Period, type TimeZone } from './metrics-periods.ts'
import { GRANULARITIES } from '../api/metrics.ts'

const DIMENSIONS = ['period', 'domain', 'email', 'broadcast'] as const
export type Dimension = (typeof DIMENSIONS)[number]

/** A validated request. */
export interface MetricsRequest {
  range: Period
  zone: TimeZone
  granularity: Granularity
  metrics: Metric[]
  dimensions: Dimension[]
  /** Domain IDs; undefined for all. */
  domainIds: string[] | undefined
  /** Only domains in this region; undefined for all. */
  region: string | undefined
  emailIds: string[] | undefined
  broadcastIds: string[] | undefined
}

const DEFAULT_RANGE = 6 * 24 * 3_600_000
const MOST_IDS = 100
const DATE = 'an ISO 8601 date or datetime such as 2026-07-01 or 2026-07-01T12:00:00Z'

const invalid = (parameter: string, expected: string) => refuse('invalid_parameter', { parameter, expected })

/**
 * Parses the query of GET /emails/metrics. Lists may use commas, repeated parameters, or both.
 * @param now the current time, which ends the range at the latest
 * @throws Refusal naming the parameter and what it accepts
 */
export function parseMetricsQuery(query: unknown, now: number): MetricsRequest {
  const given = query as Record<string, unknown>
  const zone = findZone(text(given, 'timezone') ?? 'UTC')
  if (!zone) throw invalid('timezone', 'an IANA time zone such as America/New_York')
  const granularity = oneOf('granularity', text(given, 'granularity') ?? 'daily', GRANULARITIES)
  const metrics = words(given, 'metrics').map((word) => oneOf('metrics', word, METRICS))
  const dimensions = words(given, 'dimensions').map((word) => oneOf('dimensions', word, DIMENSIONS))
  const [emailIds, broadcastIds] = [ids(given, 'email_id'), ids(given, 'broadcast_id')]
  refuseBoth(dimensions, emailIds, broadcastIds)
  return {
    range: readRange(given, zone, now),
    zone,
    granularity,
    metrics: metrics.length > 0 ? [...new Set(metrics)] : [...METRICS],
    dimensions: DIMENSIONS.filter((one) => dimensions.includes(one)),
    domainIds: ids(given, 'domain_id'),
    region: readRegion(given),
    emailIds,
    broadcastIds,
  }
}

function readRegion(given: Record<string, unknown>): string | undefined {
  const region = text(given, 'region')?.toLowerCase()
  if (region !== undefined && !isRegionName(region)) throw invalid('region', 'the name of a region')
  return region
}

function refuseBoth(dimensions: Dimension[], emailIds?: string[], broadcastIds?: string[]): void {
  const email = dimensions.includes('email') || emailIds !== undefined
  const broadcast = dimensions.includes('broadcast') || broadcastIds !== undefined
  if (!email || !broadcast) return
  const parameter = dimensions.includes('broadcast') ? 'dimensions' : 'broadcast_id'
  throw invalid(parameter, 'either emails or broadcasts, not both')
}

function readRange(given: Record<string, unknown>, zone: TimeZone, now: number): Period {
  const last = readInstant('end_date', text(given, 'end_date'), zone) ?? now
  const end = Math.min(last, now)
  const start = readInstant('start_date', text(given, 'start_date'), zone) ?? end - DEFAULT_RANGE
  if (start > end) throw invalid('start_date', 'an instant that is not after `end_date` or now')
  return { start, end }
}

/** Parses a time. A date means its first moment in the zone; a datetime without offset is local time in the zone. */
function readInstant(parameter: string, value: string | undefined, zone: TimeZone): number | undefined {
  if (value === undefined) return undefined
  // A plus sign in a query string arrives as a space.
  const [, date, time = '00:00', offset] =
    /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)\s*(Z|[+\s-]?\d\d:?\d\d)?)?$/i.exec(value) ??
    []
  if (date === undefined) throw invalid(parameter, DATE)
  const sign = offset?.replace(/^(?=\d)|^\s/, '+').replace(/(\d\d)(\d\d)$/, '$1:$2')
  const at = Date.parse(`${date}T${time}${sign ?? 'Z'}`.toUpperCase())
  // Date.parse reads February 31 as March 3.
  const exists = new Date(`${date}T00:00Z`).toJSON()?.startsWith(date)
  if (Number.isNaN(at) || !exists) throw invalid(parameter, DATE)
  return offset === undefined ? toInstant(at, zone) : at
}

function text(given: Record<string, unknown>, name: string): string | undefined {
  const value = given[name]
  if (value === undefined || value === '') return undefined
  if (typeof value !== 'string') throw invalid(name, 'a single value')
  return value
}

function words(given: Record<string, unknown>, name: string): string[] {
  const all = [given[name] ?? []]
    .flat()
    .flatMap((value) => (typeof value === 'string' ? value.split(',') : []))
  return all.map((word) => word.trim()).filter((word) => word !== '')
}

function ids(given: Record<string, unknown>, name: string): string[] | undefined {
  const all = [...new Set(words(given, name).map((word) => word.toLowerCase()))]
  if (all.length === 0) return undefined
  if (!all.every(isId)) throw refuse('invalid_id', { parameter: name })
  if (all.length > MOST_IDS) throw invalid(name, `at most ${MOST_IDS} ids`)
  return all
}

function oneOf<T extends string>(name: string, word: string, allowed: readonly T[]): T {
  const found = allowed.find((one) => one === word.toLowerCase())
  if (found === undefined)
    throw invalid(name, `${name === 'granularity' ? 'one' : 'any'} of ${allowed.join(', ')}`)
  return found
}
