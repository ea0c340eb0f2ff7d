import { expect, test } from 'vitest'
import { computeVisibleRows } from '../../../ui/src/state/window.ts'

const view = (above: number, count: number) => computeVisibleRows({ above, height: 800, row: 40, count })

test('at the top, renders the first rows and some below the viewport', () => {
  expect(view(0, 1_000_000)).toEqual({ from: 0, to: 32 })
  expect(view(-200, 1_000_000)).toEqual({ from: 0, to: 32 })
})

test('in the middle of a million rows, renders only nearby rows on both sides', () => {
  expect(view(20_000_000, 1_000_000)).toEqual({ from: 499_988, to: 500_032 })
})

test('renders a short list completely', () => {
  expect(view(0, 3)).toEqual({ from: 0, to: 3 })
  expect(view(0, 0)).toEqual({ from: 0, to: 0 })
})

test('renders the end of a list that became shorter than the scroll position', () => {
  expect(view(40_000, 100)).toEqual({ from: 76, to: 100 })
})
