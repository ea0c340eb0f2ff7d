import { expect, test } from 'vitest'
import { resolveRequireTls } from '../../../appliance/mail/tls-policy.ts'

test.each([
  ['nothing', [], null],
  ['No', ['No'], 'no'],
  ['it in any case, with a comment', [' (why not?) nO (really)'], 'no'],
  ['another word', ['Yes'], null],
  ['a longer word', ['None'], null],
  ['two of them', ['No', 'No'], null],
  ['an endless comment', ['('.repeat(100_000)], null],
])('requireTlsOf reads the header field with %s', (_, fields, said) => {
  expect(resolveRequireTls(false, fields)).toBe(said)
})

test('REQUIRETLS overrides the header field', () => {
  expect(resolveRequireTls(true, ['No'])).toBe('yes')
})
