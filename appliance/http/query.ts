/** Reads what comes in paths and query strings of operations that do not declare it in their schemas yet. */
import { DEFAULT_LIMIT, page, pathId, query as querySchema, type PageQuery } from '../api/parameters.ts'

const pages = querySchema(page)

/** Reads `limit`, `after` and `before`; others are ignored. */
export const readPage = (query: unknown): PageQuery => pages.read(query as Record<string, unknown>)

/** The id in the path. */
export const readId = (params: unknown): string => pathId.read((params as { id: string }).id, 'id')

/**
 * A page of a list that is short enough to be in memory, newest first by id. Without any parameter it is the whole
 * list, as the hosted service does it for domains.
 */
export function pageOf<T extends { id: string }>(
  items: T[],
  { limit: given, after, before }: Partial<PageQuery>,
): { items: T[]; hasMore: boolean } {
  const sorted = items.toSorted((a, b) => (a.id < b.id ? 1 : -1))
  if (given === undefined && after === undefined && before === undefined)
    return { items: sorted, hasMore: false }
  const limit = given ?? DEFAULT_LIMIT
  if (before !== undefined) {
    const newer = sorted.filter(({ id }) => id > before)
    return { items: newer.slice(-limit), hasMore: newer.length > limit }
  }
  const older = after === undefined ? sorted : sorted.filter(({ id }) => id < after)
  return { items: older.slice(0, limit), hasMore: older.length > limit }
}
