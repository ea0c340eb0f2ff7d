/** Draws the totals of a broadcast in its first hours as lines. Pure. */
import type { Static } from 'typebox'
import type { BroadcastResults } from '../../../appliance/api/broadcast-results.ts'

type Points = Static<typeof BroadcastResults>['first_48_hours']
type Point = Points[number]

/** The totals that are drawn as lines. */
export const CURVES = ['delivered', 'opened', 'clicked'] as const
type Curve = (typeof CURVES)[number]

/** Lengths of the time axis in hours, with the hours that are labeled. */
export const AXES = {
  6: [0, 2, 4, 6],
  12: [0, 4, 8, 12],
  24: [0, 6, 12, 18, 24],
  48: [0, 12, 24, 36, 48],
} as const

/** Returns the length of the time axis in hours, and the largest total. */
export function computeAxis(points: Points): { hours: keyof typeof AXES; most: number } {
  const hours = ([6, 12, 24] as const).find((one) => points.length <= one) ?? 48
  return { hours, most: Math.max(0, ...points.flatMap((point) => CURVES.map((name) => point[name]))) }
}

/** Returns the points of an SVG line that starts at zero. Hours increase to the right; zero is at the bottom. */
export const computeLine = (points: Points, name: Curve, most: number, height: number): string =>
  [0, ...points.map((point) => point[name])]
    .map((value, hour) => `${hour},${Number((height * (1 - value / Math.max(1, most))).toFixed(2))}`)
    .join(' ')

/** Hours after the start for which totals are listed. */
const MOMENTS = [1, 6, 24, 48]

/** Returns the totals after 1, 6, 24 and 48 hours, and the latest totals if it started less than 48 hours ago. */
export function selectMilestones(points: Points): { hours: number; point: Point }[] {
  const reached = MOMENTS.filter((hours) => hours < points.length)
  return [...reached, Math.min(48, points.length)].flatMap((hours) => {
    const point = points[hours - 1]
    return point ? [{ hours, point }] : []
  })
}
