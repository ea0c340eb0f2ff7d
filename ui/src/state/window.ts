/** Calculates which rows of a long list to render: the visible ones and some above and below. Pure. */
export interface ListWindow {
  /** Pixels from the list's top to the window's top; negative above the list. */
  above: number
  /** Height of the window in pixels. */
  height: number
  /** Height of a row in pixels. */
  row: number
  count: number
}

/** Number of extra rows above and below, because j and k need the next row, and scrolling must not show gaps. */
const BEYOND = 12

/** Returns the rows to render, from `from` up to but excluding `to`. */
export function computeVisibleRows({ above, height, row, count }: ListWindow): { from: number; to: number } {
  const first = Math.floor(Math.max(0, above) / row) - BEYOND
  const last = Math.ceil((Math.max(0, above) + height) / row) + BEYOND
  // If the list became shorter than the scroll position, show its end.
  const to = Math.min(count, Math.max(last, 0))
  return { from: Math.max(0, Math.min(first, count - 2 * BEYOND)), to }
}
