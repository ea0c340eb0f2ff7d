/** Draws counts over time as bars for a terminal. Pure. */

/** Bars from empty to full, in steps of an eighth of a line. */
const BARS = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█']
const WIDTH = 60
const HEIGHT = 8

/** Possible durations of a bar in minutes. The shortest one that fits is used. */
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440]

/** Adds up the counts of all receivers per minute. Returns one number for each minute until the last one with mail. */
export function computeMinuteTotals(minutes: ReadonlyMap<string, ReadonlyMap<number, number>>): number[] {
  const last = Math.max(-1, ...[...minutes.values()].flatMap((counts) => [...counts.keys()]))
  const total = new Array<number>(last + 1).fill(0)
  for (const counts of minutes.values())
    for (const [minute, count] of counts) total[minute] = total[minute]! + count
  return total
}

/**
 * Returns the lines of a chart with its scale; empty if there are no counts.
 * @param counts per minute
 */
export function drawBars(counts: readonly number[]): string[] {
  if (counts.length === 0) return []
  const step = STEPS.find((minutes) => counts.length / minutes <= WIDTH) ?? Math.ceil(counts.length / WIDTH)
  const sums = Array.from({ length: Math.ceil(counts.length / step) }, (_, at) =>
    counts.slice(at * step, (at + 1) * step).reduce((sum, count) => sum + count, 0),
  )
  const most = Math.max(1, ...sums)
  const margin = String(most).length
  const rows = Array.from({ length: HEIGHT }, (_, row) => {
    const below = HEIGHT - 1 - row
    const bars = sums.map((sum) => barOf((sum / most) * HEIGHT - below)).join('')
    const label = row === 0 ? String(most) : row === HEIGHT - 1 ? '0' : ''
    return `${label.padStart(margin)} │${bars}`.trimEnd()
  })
  const end = lengthOf(sums.length * step)
  const axis = `${' '.repeat(margin)} └${'─'.repeat(sums.length)}`
  const ticks = `${' '.repeat(margin + 2)}0${end.padStart(Math.max(end.length + 1, sums.length - 1))}`
  return [`Emails delivered in each ${lengthOf(step)}`, ...rows, axis, ticks]
}

/** @param height height of the bar within this line; limited to 0 to 1, and rounded up to eighths */
const barOf = (height: number): string => BARS[Math.max(0, Math.min(8, Math.ceil(height * 8)))]!

/** Formats minutes: `5 min`, `3 h`, `2 d`. */
function lengthOf(minutes: number): string {
  if (minutes < 60) return `${minutes} min`
  const hours = Math.round(minutes / 6) / 10
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 2.4) / 10} d`
}
