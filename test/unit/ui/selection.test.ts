import { describe, expect, test } from 'vitest'
import { NO_SELECTION, updateRows, toggleAll, toggleRow } from '../../../ui/src/state/selection.ts'

const rows = ['a', 'b', 'c', 'd', 'e']
const after = (...steps: [id: string, stretch?: boolean][]): string =>
  [...steps.reduce((picked, [id, stretch = false]) => toggleRow(rows, picked, id, stretch), NO_SELECTION).ids]
    .toSorted()
    .join('')

describe('selecting rows', () => {
  test('toggles the selection of single rows', () => {
    expect(after(['b'], ['d'])).toBe('bd')
    expect(after(['b'], ['d'], ['b'])).toBe('d')
    expect(after(['z'])).toBe('')
  })

  test('extends the selection from the last row to this one, up or down', () => {
    expect(after(['b'], ['d', true])).toBe('bcd')
    expect(after(['d'], ['b', true])).toBe('bcd')
    expect(after(['a'], ['c'], ['e', true])).toBe('acde')
    expect(after(['c', true])).toBe('c')
  })

  test('deselects a range if it ends at a selected row', () => {
    expect(after(['a'], ['e', true], ['b'], ['d', true])).toBe('ae')
  })

  test('selects all rows, then none', () => {
    const all = toggleAll(rows, toggleRow(rows, NO_SELECTION, 'b', false))
    expect([...all.ids]).toEqual(rows)
    expect(toggleAll(rows, all)).toBe(NO_SELECTION)
  })

  test('the selection keeps the order of rows, and updates their content', () => {
    const row = (id: string, status: string) => ({ id, status })
    const held = [row('b', 'failed'), row('a', 'failed')]
    expect(updateRows(held, [row('c', 'pending'), row('b', 'success')])).toEqual([
      row('b', 'success'),
      row('a', 'failed'),
    ])
  })
})
