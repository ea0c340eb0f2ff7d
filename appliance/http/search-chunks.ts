/**
 * Searches a bounded part of a long list per request. The response tells the client where to continue, and how far the
 * search has come.
 */
import { getIdTime } from '../mail/ids.ts'
import { presentList } from '../api/shared.ts'
import { timestamp } from '../api/timestamp.ts'

/** Maximum chunks searched per request; each takes a few milliseconds. */
const MOST_CHUNKS = 50

/** The result of searching a chunk. The next chunk has IDs older than `next`; null at the end of the list. */
export interface ChunkResult<T> {
  items: T[]
  next: string | null
}

interface Page {
  limit: number
  after?: string | undefined
}

/** Searches chunk after chunk until the page is full, the list ends, or the limit per request is reached. */
export async function searchUntilFull<T>(
  { limit, after }: Page,
  searchChunk: (limit: number, after: string | undefined) => Promise<ChunkResult<T>>,
): Promise<ChunkResult<T>> {
  const items: T[] = []
  let next = after ?? null
  for (let count = 0; count < MOST_CHUNKS; count++) {
    const part = await searchChunk(limit - items.length, next ?? undefined)
    items.push(...part.items)
    next = part.next
    if (next === null || items.length === limit) break
  }
  return { items, next }
}

/** Formats the result as a list, with the ID to continue from. */
export function presentSearch<T, P>({ items, next }: ChunkResult<T>, present: (item: T) => P) {
  const lookedBackTo = next === null ? null : timestamp(getIdTime(next))
  return { ...presentList(items.map(present), next !== null), next, looked_back_to: lookedBackTo }
}
