/** Selection of rows for bulk actions. Pure. */

/** The selected rows, and the last row that was toggled, where a range starts. */
export interface RowSelection {
  readonly ids: ReadonlySet<string>
  readonly last: string | null
}

export const NO_SELECTION: RowSelection = { ids: new Set(), last: null }

/**
 * Toggles a row; with `stretch`, also sets all rows between it and the last toggled row.
 * @param rows IDs in the order shown
 */
export function toggleRow(
  rows: readonly string[],
  picked: RowSelection,
  id: string,
  stretch: boolean,
): RowSelection {
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
export const toggleAll = (rows: readonly string[], { ids }: RowSelection): RowSelection =>
  rows.every((id) => ids.has(id)) ? NO_SELECTION : { ids: new Set(rows), last: null }

/** Updates the rows shown without adding or moving any, so that the list stays in place during a selection. */
export function updateRows<Row extends { id: string }>(held: readonly Row[], fresh: readonly Row[]): Row[] {
  const now = new Map(fresh.map((row) => [row.id, row]))
  return held.map((row) => now.get(row.id) ?? row)
}
