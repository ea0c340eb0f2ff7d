import { expect, test } from 'vitest'
import { inSight } from '../../../ui/src/state/window.ts'

const view = (above: number, count: number) => inSight({ above, height: 800, row: 40, count })

test('at the top, the first rows and some beyond the viewport are rendered', () => {
  expect(view(0, 1_000_000)).toEqual({ from: 0, to: 32 })
  expect(view(-200, 1_000_000)).toEqual({ from: 0, to: 32 })
})

test('in the middle of a million rows, only nearby rows on both sides are rendered', () => {
  expect(view(20_000_000, 1_000_000)).toEqual({ from: 499_988, to: 500_032 })
})

test('a short list is rendered completely', () => {
  expect(view(0, 3)).toEqual({ from: 0, to: 3 })
  expect(view(0, 0)).toEqual({ from: 0, to: 0 })
})

test('after a list shrinks above the viewport, its end is rendered', () => {
  expect(view(40_000, 100)).toEqual({ from: 76, to: 100 })
})
