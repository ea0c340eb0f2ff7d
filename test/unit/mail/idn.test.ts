import { domainToASCII } from 'node:url'
import { expect, test } from 'vitest'
import { withUnicodeDomains } from '../../../appliance/mail/idn.ts'

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
])('%s is shown in Unicode', (name) => {
  const ascii = domainToASCII(name)
  expect(ascii).toContain('xn--')
  expect(withUnicodeDomains(ascii)).toBe(name)
  expect(withUnicodeDomains(ascii.toUpperCase())).toBe(name)
})

test.each([
  ['Cyrillic among Latin letters', 'pаypal.example'],
  ['Greek among Latin letters', 'gοogle.example'],
  ['only letters that look like Latin ones', 'аррӏе.example'],
  ['an obsolete script', '𐌰𐌱.example'],
])('a name with %s stays an A-label', (_why, name) => {
  const ascii = domainToASCII(name)
  expect(ascii).toContain('xn--')
  expect(withUnicodeDomains(ascii)).toBe(ascii)
})

test('lookalike letters are shown in Unicode below a top-level domain of the same script', () => {
  const name = 'сор.рф'
  expect(withUnicodeDomains(domainToASCII(name))).toBe(name)
})

test.each([
  'xn--.example',
  'xn--a.example',
  'xn--99999999999.example',
  'xn--mnchen-3ya9',
  'xn--a-ecp.ru',
  'xn--abc-',
])('%s, an invalid A-label, is left unchanged', (name) => {
  expect(withUnicodeDomains(name)).toBe(name)
})

test('only domains in a text are converted', () => {
  expect(withUnicodeDomains('Ada <Ada.L@xn--mnchen-3ya.example>')).toBe('Ada <Ada.L@münchen.example>')
  expect(withUnicodeDomains('The domain Sub.xn--mnchen-3ya.example does not exist.')).toBe(
    'The domain sub.münchen.example does not exist.',
  )
  expect(withUnicodeDomains('Nothing Of This.')).toBe('Nothing Of This.')
})
