/** Reads what comes in paths and query strings, where everything is text (reference: wire format §1.3). */
import { isId } from '../mail/ids.ts'
import { refuse } from '../mail/refusals.ts'

/** Which part of a list is asked for. */
export interface PageQuery {
  limit: number
  after?: string | undefined
  before?: string | undefined
}

const DEFAULT_LIMIT = 20
const MAX_LIMIT = 100

/** Reads `limit`, `after` and `before`; others are ignored. */
export function readPage(query: unknown): PageQuery {
  const given = query as Record<string, unknown>
  const after = readCursor('after', given.after)
  const before = readCursor('before', given.before)
  if (after !== undefined && before !== undefined)
    throw refuse('invalid_parameter', {
      parameter: 'after',
      expected: 'either `after` or `before`, not both',
    })
  return { limit: readLimit(given.limit), after, before }
}

/** Reads `limit` alone. */
export function readLimit(value: unknown): number {
  if (value === undefined) return DEFAULT_LIMIT
  const limit = typeof value === 'string' && /^\d{1,3}$/.test(value) ? Number(value) : 0
  if (limit < 1 || limit > MAX_LIMIT)
    throw refuse('invalid_parameter', { parameter: 'limit', expected: `a number from 1 to ${MAX_LIMIT}` })
  return limit
}

function readCursor(parameter: string, value: unknown): string | undefined {
  if (value === undefined || value === '') return undefined
  if (typeof value !== 'string' || !isId(value)) throw refuse('invalid_id', { parameter })
  return value.toLowerCase()
}

/** The id in the path. */
export function readId(params: unknown): string {
  const { id } = params as { id: string }
  if (!isId(id)) throw refuse('invalid_id', { parameter: 'id' })
  return id.toLowerCase()
}

/**
 * A page of a list that is short enough to be in memory, newest first by id. Without any parameter it is the whole
 * list, as the hosted service does it for domains.
 */
export function pageOf<T extends { id: string }>(
  items: T[],
  query: unknown,
): { items: T[]; hasMore: boolean } {
  const sorted = items.toSorted((a, b) => (a.id < b.id ? 1 : -1))
  const given = query as Record<string, unknown>
  if (['limit', 'after', 'before'].every((name) => given[name] === undefined))
    return { items: sorted, hasMore: false }
  const { limit, after, before } = readPage(query)
  if (before !== undefined) {
    const newer = sorted.filter(({ id }) => id > before)
    return { items: newer.slice(-limit), hasMore: newer.length > limit }
  }
  const older = after === undefined ? sorted : sorted.filter(({ id }) => id < after)
  return { items: older.slice(0, limit), hasMore: older.length > limit }
}
