/** Matches media queries for narrow screens. A message that has one adapts to the width by itself. */
const RESPONSIVE = /@media[^{]*max-(?:device-)?width/i
const FIXED = /(?<![\w-])(?:min-)?width\s*(?:=\s*["']?|:\s*)(\d{3,4})(?:px)?\s*(?=["';\s>}])/gi
/** Maximum width in pixels for which a preview is scaled down, and the margin of the page. */
const WIDEST = 1000
const MARGIN = 16

/** Returns the minimum width of a message in pixels; 0 if it fits any width. */
export function minimumWidth(html: string): number {
  if (RESPONSIVE.test(html)) return 0
  const widths = [...html.matchAll(FIXED)].map(([, width]) => Number(width))
  const widest = widths.reduce((most, width) => Math.max(most, width), 0)
  return widest === 0 ? 0 : Math.min(widest, WIDEST) + MARGIN
}
