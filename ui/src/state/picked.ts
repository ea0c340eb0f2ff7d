/** Selection of rows for bulk actions. Pure. */

/** The selected rows, and the last row that was toggled, where a range starts. */
export interface Picked {
  readonly ids: ReadonlySet<string>
  readonly last: string | null
}

export const NONE: Picked = { ids: new Set(), last: null }

/**
 * Toggles a row; with `stretch`, also sets all rows between it and the last toggled row.
 * @param rows IDs in the order shown
 */
export function withRow(rows: readonly string[], picked: Picked, id: string, stretch: boolean): Picked {
  const to = rows.indexOf(id)
  if (to < 0) return picked
  const last = stretch && picked.last !== null ? rows.indexOf(picked.last) : -1
  const from = last < 0 ? to : last
  const ids = new Set(picked.ids)
  const on = !ids.has(id)
  for (const one of rows.slice(Math.min(from, to), Math.max(from, to) + 1))
    if (on) ids.add(one)
    else ids.delete(one)
  return { ids, last: id }
}

/** Selects all rows or, if all are selected, clears the selection. */
export const withAll = (rows: readonly string[], { ids }: Picked): Picked =>
  rows.every((id) => ids.has(id)) ? NONE : { ids: new Set(rows), last: null }

/** Updates the current rows without adding or moving any, so that rows don't move during a selection. */
export function standing<Row extends { id: string }>(held: readonly Row[], fresh: readonly Row[]): Row[] {
  const now = new Map(fresh.map((row) => [row.id, row]))
  return held.map((row) => now.get(row.id) ?? row)
}
