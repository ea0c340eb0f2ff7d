import { expect, test } from 'vitest'
import { filterByWords } from '../../../ui/src/state/list-search.ts'

const found = (rows: string[][], text: string) =>
  filterByWords(rows, text, (row) => row).map(([first]) => first)

test('rows match if they contain all words in any case and order, each word within one cell', () => {
  const rows = [
    ['Helpdesk', 'Sending access'],
    ['Desk', 'Full access'],
    ['Shop', 'Sending access'],
  ]
  expect(found(rows, '')).toEqual(['Helpdesk', 'Desk', 'Shop'])
  expect(found(rows, '  DESK ')).toEqual(['Helpdesk', 'Desk'])
  expect(found(rows, 'sending desk')).toEqual(['Helpdesk'])
  expect(found(rows, 'deskfull')).toEqual([])
})
