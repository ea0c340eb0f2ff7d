import { domainToASCII } from 'node:url'
import { expect, test } from 'vitest'
import { toUnicodeDomains } from '../../../appliance/mail/idn.ts'

test.each([
  'münchen.example',
  'bücher.münchen.example',
  '例え.テスト',
  'пример.рф',
  'παράδειγμα.example',
  '한국.example',
  'مثال.example',
  'faß.example',
  'ñandú.example',
  'ab例.example',
  '中国.cn',
])('shows %s in Unicode', (name) => {
  const ascii = domainToASCII(name)
  expect(ascii).toContain('xn--')
  expect(toUnicodeDomains(ascii)).toBe(name)
  expect(toUnicodeDomains(ascii.toUpperCase())).toBe(name)
})

test.each([
  ['Cyrillic among Latin letters', 'pаypal.example'],
  ['Greek among Latin letters', 'gοogle.example'],
  ['only letters that look like Latin ones', 'аррӏе.example'],
  ['an obsolete script', '𐌰𐌱.example'],
])('keeps the A-label of a name with %s', (_why, name) => {
  const ascii = domainToASCII(name)
  expect(ascii).toContain('xn--')
  expect(toUnicodeDomains(ascii)).toBe(ascii)
})

test('shows lookalike letters in Unicode below a top-level domain of the same script', () => {
  const name = 'сор.рф'
  expect(toUnicodeDomains(domainToASCII(name))).toBe(name)
})

test.each([
  'xn--.example',
  'xn--a.example',
  'xn--99999999999.example',
  'xn--mnchen-3ya9',
  'xn--a-ecp.ru',
  'xn--abc-',
])('leaves %s, an invalid A-label, unchanged', (name) => {
  expect(toUnicodeDomains(name)).toBe(name)
})

test('converts only the domains in a text', () => {
  expect(toUnicodeDomains('Ada <Ada.L@xn--mnchen-3ya.example>')).toBe('Ada <Ada.L@münchen.example>')
  expect(toUnicodeDomains('The domain Sub.xn--mnchen-3ya.example does not exist.')).toBe(
    'The domain sub.münchen.example does not exist.',
  )
  expect(toUnicodeDomains('Nothing Of This.')).toBe('Nothing Of This.')
})
