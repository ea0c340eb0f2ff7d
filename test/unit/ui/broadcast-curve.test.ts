import { expect, test } from 'vitest'
import { computeAxis, computeLine, selectMilestones } from '../../../ui/src/state/broadcast-curve.ts'

const pointsOf = (delivered: readonly number[]) =>
  delivered.map((n, hour) => ({ at: `2026-11-16T${hour}`, delivered: n, opened: n / 2, clicked: 0 }))

test('the axis of the chart is as long as the curve, up to 48 hours', () => {
  const hours = (n: number) => computeAxis(pointsOf(Array.from({ length: n }, () => 8))).hours
  expect([1, 6, 7, 13, 25, 48].map(hours)).toEqual([6, 6, 12, 24, 48, 48])
  expect(computeAxis(pointsOf([4, 8])).most).toBe(8)
  expect(computeAxis([])).toEqual({ hours: 6, most: 0 })
})

test('a line of the chart starts at zero and ends at its total', () => {
  expect(computeLine(pointsOf([4, 8]), 'delivered', 8, 100)).toBe('0,100 1,50 2,0')
  expect(computeLine(pointsOf([4, 8]), 'opened', 8, 100)).toBe('0,100 1,75 2,50')
  expect(computeLine(pointsOf([0]), 'clicked', 0, 100)).toBe('0,100 1,100')
})

test('lists totals after 1, 6, 24 and 48 hours, and for the latest hour', () => {
  const hours = (n: number) =>
    selectMilestones(pointsOf(Array.from({ length: n }, () => 8))).map((one) => one.hours)
  expect([0, 1, 2, 7, 48].map(hours)).toEqual([[], [1], [1, 2], [1, 6, 7], [1, 6, 24, 48]])
})
