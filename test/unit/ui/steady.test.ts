import { expect, test } from 'vitest'
import { steady } from '../../../ui/src/state/steady.ts'

const row = (id: string, status = 'sent') => ({ id, status })

test('at the top the list is simply the newest', () => {
  expect(steady([row('b')], [row('c'), row('b')], false)).toEqual({ rows: [row('c'), row('b')], waiting: 0 })
})

test('a list that is held keeps its rows in place, renews their content, and counts what is new', () => {
  const shown = [row('b'), row('a')]
  expect(steady(shown, [row('d'), row('c'), row('b', 'delivered')], true)).toEqual({
    rows: [row('b', 'delivered'), row('a')],
    waiting: 2,
  })
})

test('the first rows are not held back', () => {
  expect(steady([], [row('a')], true)).toEqual({ rows: [row('a')], waiting: 0 })
})
