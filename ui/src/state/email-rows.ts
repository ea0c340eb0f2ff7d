/** The rows of a long list of emails, newest first, so by falling ids. Pure; what is here costs the more the longer the list is. */
import type { EmailSearch, FoundEmail } from '../../../appliance/api/email-search.ts'

/** Rows of a part: one screen and a half. */
export const PART = 100
/**
 * Rows of one list. A row takes 600 bytes of the browser's memory, and no page can be higher than 33 million pixels, 800 000 rows; after so
 * many the list goes on as one of its own.
 */
export const MOST_ROWS = 100_000

/** What was loaded of a search. */
export interface Loaded {
  rows: FoundEmail[]
  /** Where to go on; null: that was all. */
  next: string | null
  /** How far back was looked, when the last part was not full. */
  lookedBackTo: string | null
}

/** How many rows are newer than `id`: where it is, or would be. */
export function placeOf(rows: readonly FoundEmail[], id: string): number {
  let [low, high] = [0, rows.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (rows[middle]!.id > id) low = middle + 1
    else high = middle
  }
  return low
}

/** The row with that id, if it is there. */
export function rowOf(rows: readonly FoundEmail[], id: string): FoundEmail | undefined {
  const row = rows[placeOf(rows, id)]
  return row?.id === id ? row : undefined
}

/** With a part that was read after the rows. */
export const afterPart = (rows: FoundEmail[], part: EmailSearch): Loaded => ({
  rows: rows.concat(part.data),
  next: part.next,
  lookedBackTo: part.data.length < PART ? part.looked_back_to : null,
})

/** The rows as they are now, of those that were read anew; the same array where none of them is there. */
export function renewed(rows: FoundEmail[], fresh: readonly FoundEmail[]): FoundEmail[] {
  const here = fresh.filter(({ id }) => rowOf(rows, id))
  if (here.length === 0) return rows
  const copy = rows.slice()
  for (const row of here) copy[placeOf(copy, row.id)] = row
  return copy
}

/** The fresh rows before those that were known; without a row in common, and with more between, the fresh ones alone. */
export function merged(known: Loaded, fresh: EmailSearch): Loaded {
  const last = fresh.data.at(-1)
  if (!last) return known
  const first = known.rows[0]
  const meets = fresh.next === null || (first !== undefined && first.id >= last.id)
  if (!meets) return { rows: fresh.data, next: fresh.next, lookedBackTo: null }
  const place = placeOf(known.rows, last.id)
  const older = known.rows.slice(known.rows[place]?.id === last.id ? place + 1 : place)
  return { ...known, rows: fresh.data.concat(older) }
}
