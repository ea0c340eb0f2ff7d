/** What the list of requests is narrowed by. Pure: the address bar in, conditions of GET /logs/search out. */
import type { LogConditions } from '../../../appliance/api/logs.ts'

const HOUR = 3600_000

/** Times that go with the clock; the address has the word. */
export const SPANS = [
  ['1h', 'Last hour', HOUR],
  ['24h', 'Last 24 hours', 24 * HOUR],
  ['7d', 'Last 7 days', 7 * 24 * HOUR],
  ['30d', 'Last 30 days', 30 * 24 * HOUR],
] as const

export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'SMTP'] as const

/** Classes of HTTP statuses, and of SMTP replies. */
export const STATUSES = ['2xx', '4xx', '5xx'] as const

/** As the address and GET /logs/search call them. */
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

/** The conditions in the address, as they stand there. */
export function conditionsIn(query: URLSearchParams): LogConditions {
  const found: LogConditions = {}
  for (const name of Object.keys(CONDITIONS) as LogCondition[]) {
    const value = query.get(name)
    if (value) found[name] = value
  }
  return found
}

/** Whether a search is needed: the requests of one email are a list of their own. */
export const isSearch = (conditions: LogConditions): boolean =>
  Object.keys(conditions).some((name) => name !== 'email_id')

/** The same for the appliance: a span becomes the instant that it begins at (`now` in Unix milliseconds). */
export function asAsked(conditions: LogConditions, now: number): LogConditions {
  const span = SPANS.find(([word]) => word === conditions.since)
  return span ? { ...conditions, since: new Date(now - span[2]).toISOString() } : conditions
}
