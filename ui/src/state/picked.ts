/** Picking rows of a list, for doing something to all of them at once. Pure. */

/** What is picked, and the row that was picked or let go last: a stretch begins there. */
export interface Picked {
  readonly ids: ReadonlySet<string>
  readonly last: string | null
}

export const NONE: Picked = { ids: new Set(), last: null }

/**
 * With a row picked or, when it was, let go; as a `stretch` so are all rows from the last one to it.
 * @param rows ids in the order in which they are shown
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

/** With all rows or, when all of them were, with none. */
export const withAll = (rows: readonly string[], { ids }: Picked): Picked =>
  rows.every((id) => ids.has(id)) ? NONE : { ids: new Set(rows), last: null }

/** Rows that stand still, as they are now: none comes between those that somebody is picking from. */
export function standing<Row extends { id: string }>(held: readonly Row[], fresh: readonly Row[]): Row[] {
  const now = new Map(fresh.map((row) => [row.id, row]))
  return held.map((row) => now.get(row.id) ?? row)
}
