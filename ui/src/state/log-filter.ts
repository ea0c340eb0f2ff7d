/** Parses the filters of the request log from the address into parameters of GET /logs/search. Pure. */
import type { LogConditions } from '../../../appliance/api/logs.ts'

const HOUR = 3600_000

/** Relative time ranges, as in the address. */
export const TIME_RANGES = [
  ['1h', 'Last hour', HOUR],
  ['24h', 'Last 24 hours', 24 * HOUR],
  ['7d', 'Last 7 days', 7 * 24 * HOUR],
  ['30d', 'Last 30 days', 30 * 24 * HOUR],
] as const

export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'SMTP'] as const

/** Classes of HTTP statuses and SMTP replies to filter by. */
export const STATUSES = ['2xx', '4xx', '5xx'] as const

/** Names of the filters, both in the address and in GET /logs/search. */
const CONDITIONS = {
  method: true,
  status: true,
  key: true,
  endpoint: true,
  ip: true,
  user_agent: true,
  email_id: true,
  since: true,
  until: true,
} as const satisfies Record<keyof LogConditions, true>
export type LogCondition = keyof LogConditions

/** Returns the filters in the address, unchanged. */
export function parseLogConditions(query: URLSearchParams): LogConditions {
  const found: LogConditions = {}
  for (const name of Object.keys(CONDITIONS) as LogCondition[]) {
    const value = query.get(name)
    if (value) found[name] = value
  }
  return found
}

/** Whether the filters need the search endpoint. The requests of one email have a separate list. */
export const isSearch = (conditions: LogConditions): boolean =>
  Object.keys(conditions).some((name) => name !== 'email_id')

/** Converts filters for the API: a relative time becomes an instant (`now` in Unix milliseconds). */
export function toApiConditions(conditions: LogConditions, now: number): LogConditions {
  const span = TIME_RANGES.find(([word]) => word === conditions.since)
  return span ? { ...conditions, since: new Date(now - span[2]).toISOString() } : conditions
}
