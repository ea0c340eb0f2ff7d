/** Draws the progress of a simulation as SVG. Pure. */
import { drawChart, type Series } from './chart.ts'
import type { ReceiverFigures } from './figures.ts'

type Minutes = ReadonlyMap<string, ReadonlyMap<number, number>>

/** Number of receivers to draw in addition to the line for all mail. The chart has five colors. */
const DRAWN = 4
/** Maximum number of points per line. */
const POINTS = 300

/**
 * Draws the share of the mail that was delivered over time: one line for all mail, and one for each of the slowest
 * receivers.
 */
export function plotProgress(
  receivers: readonly ReceiverFigures[],
  minutes: Minutes,
  caption: string,
): string {
  const mail = receivers.reduce((sum, one) => sum + one.mail, 0)
  const last = Math.max(1, ...[...minutes.values()].flatMap((counts) => [...counts.keys()]))
  const slowest = receivers
    .filter(({ finishedAfter, mail: own }) => finishedAfter !== null && own >= mail / 200)
    .toSorted((a, b) => b.finishedAfter! - a.finishedAfter!)
    .slice(0, DRAWN)
  const all = new Map<number, number>()
  for (const counts of minutes.values())
    for (const [minute, count] of counts) all.set(minute, (all.get(minute) ?? 0) + count)
  const inHours = last > 180
  return drawChart({
    title: 'Delivered mail',
    caption,
    x: inHours ? 'hours since the start' : 'minutes since the start',
    y: 'percent of the mail',
    top: 100,
    series: [
      lineOf('all mail', all, { mail, last, unit: inHours ? 60 : 1 }),
      ...slowest.map(({ id, name, mail: own }) =>
        lineOf(name, minutes.get(id) ?? new Map<number, number>(), {
          mail: own,
          last,
          unit: inHours ? 60 : 1,
        }),
      ),
    ],
  })
}

interface Scale {
  /** What is 100%. */
  mail: number
  /** The last minute to draw. */
  last: number
  /** Number of minutes per unit of the axis. */
  unit: number
}

function lineOf(name: string, counts: ReadonlyMap<number, number>, { mail, last, unit }: Scale): Series {
  const step = Math.max(1, Math.ceil((last + 1) / POINTS))
  const points = [{ x: 0, y: 0 }]
  let sum = 0
  for (let minute = 0; minute <= last; minute++) {
    sum += counts.get(minute) ?? 0
    if ((minute + 1) % step === 0 || minute === last)
      points.push({ x: (minute + 1) / unit, y: (100 * sum) / mail })
  }
  return { name, style: 'line', points }
}
