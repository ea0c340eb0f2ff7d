import { expect, test } from 'vitest'
import { diffLines, splitTagLines, collapseUnchanged } from '../../../ui/src/state/line-diff.ts'

const shown = (before: string, after: string) =>
  diffLines(before, after).map(({ sign, text }) => `${sign}${text}`)

test('a line diff shows changes between unchanged lines', () => {
  expect(shown('a\nb\nc', 'a\nx\nc')).toEqual([' a', '-b', '+x', ' c'])
  expect(shown('a\nb', 'a\nb')).toEqual([' a', ' b'])
  expect(shown('a\nb\nc\nd', 'b\nd\ne')).toEqual(['-a', ' b', '-c', ' d', '+e'])
  expect(shown('', 'a')).toEqual(['-', '+a'])
})

test('a line diff contains all lines of both texts in order', () => {
  const [before, after] = ['p\nq\nr\np\ns', 'q\np\np\ns\nr']
  const lines = diffLines(before, after)
  const of = (sign: '+' | '-') =>
    lines.flatMap((line) => (line.sign === sign || line.sign === ' ' ? [line.text] : [])).join('\n')
  expect([of('-'), of('+')]).toEqual([before, after])
})

test('shows texts that are too long to compare as replaced', () => {
  const long = (word: string) => Array.from({ length: 2100 }, (_, at) => `${word}${at}`).join('\n')
  const lines = diffLines(`same\n${long('a')}`, `same\n${long('b')}`)
  expect(lines.map(({ sign }) => sign).join('')).toBe(` ${'-'.repeat(2100)}${'+'.repeat(2100)}`)
})

test('collapses long unchanged sections', () => {
  const text = Array.from({ length: 20 }, (_, at) => String(at))
  const rows = collapseUnchanged(diffLines(text.join('\n'), text.with(10, 'x').join('\n')))
  expect(rows.map((row) => ('gap' in row ? row.gap : row.sign + row.text))).toEqual([
    7,
    ' 7',
    ' 8',
    ' 9',
    '-10',
    '+x',
    ' 11',
    ' 12',
    ' 13',
    6,
  ])
})

test('splits generated HTML into one tag per line', () => {
  expect(splitTagLines('<p>Hi <b>Ada</b></p><p> </p>')).toBe('<p>Hi <b>Ada</b>\n</p>\n<p>\n</p>')
})
