/** Keeping a list that refreshes itself from jumping under the reader's eyes. */
export interface Steady<T> {
  rows: T[]
  /** New rows that are not shown yet. */
  waiting: number
}

/**
 * What to show of a fresh list. With `hold` the rows stay where they are and only their content is renewed; what is new
 * is counted, and shown once the reader is back at the top or asks for it.
 */
export function steady<T extends { id: string }>(
  shown: readonly T[],
  fresh: readonly T[],
  hold: boolean,
): Steady<T> {
  if (!hold || shown.length === 0) return { rows: [...fresh], waiting: 0 }
  const byId = new Map(fresh.map((row) => [row.id, row]))
  const known = new Set(shown.map((row) => row.id))
  const rows = shown.map((row) => byId.get(row.id) ?? row)
  return { rows, waiting: fresh.filter((row) => !known.has(row.id)).length }
}
