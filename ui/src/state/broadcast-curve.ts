/** Draws the totals of a broadcast in its first hours. Pure. */
import type { Static } from 'typebox'
import type { BroadcastResults } from '../../../appliance/api/broadcast-results.ts'

type Points = Static<typeof BroadcastResults>['first_48_hours']
type Point = Points[number]

/** The totals that are drawn. */
export const CURVES = ['delivered', 'opened', 'clicked'] as const
type Curve = (typeof CURVES)[number]

/** Lengths of the time axis in hours, with their labels. */
export const AXES = {
  6: [0, 2, 4, 6],
  12: [0, 4, 8, 12],
  24: [0, 6, 12, 18, 24],
  48: [0, 12, 24, 36, 48],
} as const

/** Returns the length of the time axis in hours, and the largest total. */
export function axisOf(points: Points): { hours: keyof typeof AXES; most: number } {
  const hours = ([6, 12, 24] as const).find((one) => points.length <= one) ?? 48
  return { hours, most: Math.max(0, ...points.flatMap((point) => CURVES.map((name) => point[name]))) }
}

/** Returns the points of a line for SVG: hours to the right, zero at the bottom. Begins at zero. */
export const lineOf = (points: Points, name: Curve, most: number, height: number): string =>
  [0, ...points.map((point) => point[name])]
    .map((value, hour) => `${hour},${Number((height * (1 - value / Math.max(1, most))).toFixed(2))}`)
    .join(' ')

/** Hours whose totals are listed. */
const MOMENTS = [1, 6, 24, 48]

/** Returns the totals after 1, 6, 24 and 48 hours, or up to now. */
export function momentsOf(points: Points): { hours: number; point: Point }[] {
  const reached = MOMENTS.filter((hours) => hours < points.length)
  return [...reached, Math.min(48, points.length)].flatMap((hours) => {
    const point = points[hours - 1]
    return point ? [{ hours, point }] : []
  })
}
