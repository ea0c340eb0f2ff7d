/** Operations on a long list of emails, sorted by descending id. Pure. Their cost grows with the length of the list. */
import type { EmailSearch, FoundEmail } from '../../../appliance/api/email-search.ts'

/** Number of rows per chunk: about one and a half screens. */
export const CHUNK_ROWS = 100
/**
 * Maximum number of rows in a list. A row takes 600 bytes of memory, and browsers limit a page to 33 million pixels, or
 * 800,000 rows. A longer list continues on another page.
 */
export const MAX_ROWS = 100_000

/** The loaded rows of a search. */
export interface LoadedRows {
  rows: FoundEmail[]
  /** Cursor of the next chunk; null at the end. */
  next: string | null
  /** Time back to which the search has looked, if the last chunk wasn't full. */
  lookedBackTo: string | null
}

/**
 * Returns the number of rows that are newer than `id`. That is the row's index, or the index where it would be
 * inserted.
 */
export function findRowIndex(rows: readonly FoundEmail[], id: string): number {
  let [low, high] = [0, rows.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (rows[middle]!.id > id) low = middle + 1
    else high = middle
  }
  return low
}

/** Returns the row with that id, if it is loaded. */
export function findRow(rows: readonly FoundEmail[], id: string): FoundEmail | undefined {
  const row = rows[findRowIndex(rows, id)]
  return row?.id === id ? row : undefined
}

/** Appends a chunk to the rows. */
export const appendChunk = (rows: FoundEmail[], part: EmailSearch): LoadedRows => ({
  rows: rows.concat(part.data),
  next: part.next,
  lookedBackTo: part.data.length < CHUNK_ROWS ? part.looked_back_to : null,
})

/** Returns the rows with fresh data; the same array if no row was refreshed. */
export function refreshRows(rows: FoundEmail[], fresh: readonly FoundEmail[]): FoundEmail[] {
  const here = fresh.filter(({ id }) => findRow(rows, id))
  if (here.length === 0) return rows
  const copy = rows.slice()
  for (const row of here) copy[findRowIndex(copy, row.id)] = row
  return copy
}

/**
 * Prepends fresh rows. If they don't overlap with the known rows and there may be rows in between, returns only the
 * fresh rows.
 */
export function prependRows(known: LoadedRows, fresh: EmailSearch): LoadedRows {
  const last = fresh.data.at(-1)
  if (!last) return known
  const first = known.rows[0]
  const meets = fresh.next === null || (first !== undefined && first.id >= last.id)
  if (!meets) return { rows: fresh.data, next: fresh.next, lookedBackTo: null }
  const place = findRowIndex(known.rows, last.id)
  const older = known.rows.slice(known.rows[place]?.id === last.id ? place + 1 : place)
  return { ...known, rows: fresh.data.concat(older) }
}
