import { describe, expect, test } from 'vitest'
import { formatCsvRecord, parseCell, readCsv } from '../../../appliance/mail/csv.ts'
import { costOf } from '../../world/cost.ts'

const rows = (text: string) => [...readCsv(text)].map(({ cells }) => cells)
const lines = (text: string) => [...readCsv(text)].map(({ line }) => line)

describe('reading CSV', () => {
  test.each([
    [
      'a,b\r\nc,d\r\n',
      [
        ['a', 'b'],
        ['c', 'd'],
      ],
    ],
    [
      'a,b\nc,d',
      [
        ['a', 'b'],
        ['c', 'd'],
      ],
    ],
    ['a\rb\r', [['a'], ['b']]],
    ['\ufeffa,b', [['a', 'b']]],
    [
      'a;b\n1,5;2',
      [
        ['a', 'b'],
        ['1,5', '2'],
      ],
    ],
    ['a\tb', [['a', 'b']]],
    [
      ',\n,,',
      [
        ['', ''],
        ['', '', ''],
      ],
    ],
    ['a,', [['a', '']]],
    ['a,\r\nb', [['a', ''], ['b']]],
    ['"a,b","say ""hi"""\n', [['a,b', 'say "hi"']]],
    ['"two\r\nlines",x', [['two\r\nlines', 'x']]],
    ['say "hi",x', [['say "hi"', 'x']]],
    ['', []],
    ['\n \n\n', []],
  ])('parses %j', (text, expected) => {
    expect(rows(text)).toEqual(expected)
  })

  test('counts empty lines and lines within quotation marks in line numbers', () => {
    expect(lines('a\n\n"b\nc"\n\r\nd')).toEqual([1, 3, 6])
  })

  test('reports the opening line of an unclosed quotation mark', () => {
    expect([...readCsv('a\n"b,c\nd\n')].map(({ line, closed }) => [line, closed])).toEqual([
      [1, true],
      [2, false],
    ])
  })

  test('reads megabytes of quotation marks in under 3 s', async () => {
    const cost = await costOf(() => {
      expect(rows(`"${'""'.repeat(400_000)}`)).toHaveLength(1)
      expect(rows('"a"\n'.repeat(50_000))).toHaveLength(50_000)
    })
    expect(cost).toBeLessThan(3000)
  })
})

describe('writing CSV', () => {
  test('written cells are read back unchanged', () => {
    const cells = ['a', 'b,c', 'd "e"', 'two\nlines', '', '=1+1@example.com', '-x@example.com', '@x', '＝1']
    const [read] = rows(formatCsvRecord(cells))
    expect(read!.map(parseCell)).toEqual(cells)
  })

  test('escapes cells that a spreadsheet would run as formulas', () => {
    expect(formatCsvRecord(['=cmd()', '+1', '-1', '@a', '\tx'])).toBe(`'=cmd(),'+1,'-1,'@a,"'\tx"\r\n`)
    // East Asian spreadsheets treat full-width characters as operators, and some skip an empty first line.
    expect(formatCsvRecord(['＝cmd()', '＋1', '－1', '＠a', '\n=1'])).toBe(
      `'＝cmd(),'＋1,'－1,'＠a,"'\n=1"\r\n`,
    )
  })
})
