/** Rules for narrow screens: the message fits them by itself. */
const RESPONSIVE = /@media[^{]*max-(?:device-)?width/i
const FIXED = /(?<![\w-])(?:min-)?width\s*(?:=\s*["']?|:\s*)(\d{3,4})(?:px)?\s*(?=["';\s>}])/gi
/** Widest layout that a preview is shrunk for (pixels), and what the page's own margin adds. */
const WIDEST = 1000
const MARGIN = 16

/** Pixels that a message insists on; 0 where it fits any width. */
export function widestIn(html: string): number {
  if (RESPONSIVE.test(html)) return 0
  const widths = [...html.matchAll(FIXED)].map(([, width]) => Number(width))
  const widest = widths.reduce((most, width) => Math.max(most, width), 0)
  return widest === 0 ? 0 : Math.min(widest, WIDEST) + MARGIN
}
