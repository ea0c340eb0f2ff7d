/** Searches that look at a bounded part of a long list for each request: the client goes on, and knows how far it has come. */
import { madeAt } from '../mail/ids.ts'
import { presentList } from '../api/shared.ts'
import { timestamp } from '../api/timestamp.ts'

/** Stretches that one request looks at, some milliseconds each. */
const MOST_STRETCHES = 50

/** What a stretch held; `next`: where to go on, older than this id; null: all was looked at. */
export interface Found<T> {
  items: T[]
  next: string | null
}

interface Page {
  limit: number
  after?: string | undefined
}

/** Looks at stretch after stretch until the page is full, all was looked at, or it was enough for one request. */
export async function fill<T>(
  { limit, after }: Page,
  stretch: (limit: number, after: string | undefined) => Promise<Found<T>>,
): Promise<Found<T>> {
  const items: T[] = []
  let next = after ?? null
  for (let count = 0; count < MOST_STRETCHES; count++) {
    const part = await stretch(limit - items.length, next ?? undefined)
    items.push(...part.items)
    next = part.next
    if (next === null || items.length === limit) break
  }
  return { items, next }
}

/** What was found as a list on the wire, with where to go on. */
export function presentSearch<T, P>({ items, next }: Found<T>, present: (item: T) => P) {
  const lookedBackTo = next === null ? null : timestamp(madeAt(next))
  return { ...presentList(items.map(present), next !== null), next, looked_back_to: lookedBackTo }
}
