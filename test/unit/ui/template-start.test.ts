import { expect, test } from 'vitest'
import { addVariableFallbacks } from '../../../ui/src/state/template-start.ts'

const variables = [
  { key: 'NAME', fallback_value: 'friend' },
  { key: 'COUNT', fallback_value: 3 },
  { key: 'BARE', fallback_value: null },
  { key: 'ODD', fallback_value: 'a|b' },
]
const filled = (html: string) => addVariableFallbacks({ html, text: null, document: null }, variables).html

test.each([
  ['Hi {{{NAME}}} and {{{ COUNT }}}', 'Hi {{{NAME|friend}}} and {{{COUNT|3}}}'],
  ['Hi {{{NAME|you}}}', 'Hi {{{NAME|you}}}'],
  ['{{{BARE}}} {{{ODD}}} {{{contact.first_name}}} {{{UNSUBSCRIBE_URL}}}', null],
  ['{{NAME}} NAME', null],
])('adds missing variable fallbacks: %s', (html, expected) => {
  expect(filled(html)).toBe(expected ?? html)
})

test('adds the fallbacks of document variables, including those in links', () => {
  const variable = (key: string, fallback: string) => ({ type: 'variable', attrs: { key, fallback } })
  const documentOf = (...content: object[]) => ({ version: 1, content: [{ type: 'paragraph', content }] })
  const link = (href: string) => ({ type: 'text', text: 'x', marks: [{ type: 'link', attrs: { href } }] })
  const start = {
    html: '',
    text: '{{{NAME}}}',
    document: documentOf(
      variable('NAME', ''),
      variable('NAME', 'you'),
      variable('BARE', ''),
      link('https://a.test/{{{COUNT}}}'),
    ),
  }
  expect(addVariableFallbacks(start, variables)).toEqual({
    html: '',
    text: '{{{NAME|friend}}}',
    document: documentOf(
      variable('NAME', 'friend'),
      variable('NAME', 'you'),
      variable('BARE', ''),
      link('https://a.test/{{{COUNT|3}}}'),
    ),
  })
})
