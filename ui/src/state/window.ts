/** Which rows of a long list are worth making: those in sight, and some beyond. Pure. */
export interface View {
  /** Pixels from the top of the list to the top of the window; negative above it. */
  above: number
  /** Height of the window in pixels. */
  height: number
  /** Height of a row in pixels. */
  row: number
  count: number
}

/** Rows beyond the edges of the window: j and k need the next one, and scrolling must not show a gap. */
const BEYOND = 12

/** The rows from `from` up to, not including, `to`. */
export function inSight({ above, height, row, count }: View): { from: number; to: number } {
  const first = Math.floor(Math.max(0, above) / row) - BEYOND
  const last = Math.ceil((Math.max(0, above) + height) / row) + BEYOND
  // A list that became shorter under a window that is far down: its end.
  const to = Math.min(count, Math.max(last, 0))
  return { from: Math.max(0, Math.min(first, count - 2 * BEYOND)), to }
}
