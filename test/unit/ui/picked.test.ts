import { describe, expect, test } from 'vitest'
import { NONE, standing, withAll, withRow } from '../../../ui/src/state/picked.ts'

const rows = ['a', 'b', 'c', 'd', 'e']
const after = (...steps: [id: string, stretch?: boolean][]): string =>
  [...steps.reduce((picked, [id, stretch = false]) => withRow(rows, picked, id, stretch), NONE).ids]
    .toSorted()
    .join('')

describe('selecting rows', () => {
  test('toggles single rows', () => {
    expect(after(['b'], ['d'])).toBe('bd')
    expect(after(['b'], ['d'], ['b'])).toBe('d')
    expect(after(['z'])).toBe('')
  })

  test('extends from the last row to this one, up or down', () => {
    expect(after(['b'], ['d', true])).toBe('bcd')
    expect(after(['d'], ['b', true])).toBe('bcd')
    expect(after(['a'], ['c'], ['e', true])).toBe('acde')
    expect(after(['c', true])).toBe('c')
  })

  test('deselects a range if it ends at a selected row', () => {
    expect(after(['a'], ['e', true], ['b'], ['d', true])).toBe('ae')
  })

  test('selects all, then none', () => {
    const all = withAll(rows, withRow(rows, NONE, 'b', false))
    expect([...all.ids]).toEqual(rows)
    expect(withAll(rows, all)).toBe(NONE)
  })

  test('keeps the order of rows, and updates their content', () => {
    const row = (id: string, status: string) => ({ id, status })
    const held = [row('b', 'failed'), row('a', 'failed')]
    expect(standing(held, [row('c', 'pending'), row('b', 'success')])).toEqual([
      row('b', 'success'),
      row('a', 'failed'),
    ])
  })
})
