import { expect, test } from 'vitest'
import { createPreferencesTokens, type PreferencesTarget } from '../../../appliance/audience/audience.ts'

const secret = Buffer.alloc(32, 7)
const tokens = createPreferencesTokens(secret)
const id = (digit: string): string =>
  `${digit.repeat(8)}-${digit.repeat(4)}-${digit.repeat(4)}-${digit.repeat(4)}-${digit.repeat(12)}`
const whole: PreferencesTarget = {
  teamId: id('1'),
  contactId: id('2'),
  topicId: id('3'),
  sourceId: id('4'),
  address: 'ada@customer.example',
}

test('a preferences token is decoded to its target, with any of the optional IDs', () => {
  for (const contactId of [whole.contactId, null])
    for (const topicId of [whole.topicId, null])
      for (const sourceId of [whole.sourceId, null]) {
        const target = { ...whole, contactId, topicId, sourceId }
        expect(tokens.open(tokens.sign(target))).toEqual(target)
      }
  const long = { ...whole, address: `${'ü'.repeat(32)}${'a'.repeat(200)}@customer.example` }
  expect(tokens.open(tokens.sign(long))).toEqual(long)
})

test('a preferences token is deterministic, and does not reveal its target', () => {
  const token = tokens.sign(whole)
  expect(token).toMatch(/^[\w-]{130,150}$/)
  expect(Buffer.from(token, 'base64url').toString('latin1')).not.toContain('customer')
  expect(tokens.sign({ ...whole })).toBe(token)
})

test('rejects a changed, truncated or extended token, and a token with another secret', () => {
  const token = tokens.sign(whole)
  const bytes = Buffer.from(token, 'base64url')
  for (let at = 0; at < bytes.length; at++) {
    const forged = Buffer.from(bytes)
    forged[at]! ^= 1
    expect(tokens.open(forged.toString('base64url'))).toBeUndefined()
    expect(tokens.open(bytes.subarray(0, at).toString('base64url'))).toBeUndefined()
  }
  for (const other of [
    '',
    token.slice(0, -1),
    `${token}A`,
    `${token}=`,
    `${token} `,
    `${token}.`,
    'x'.repeat(5000),
  ])
    expect(tokens.open(other)).toBeUndefined()
  expect(createPreferencesTokens(Buffer.alloc(32, 8)).open(token)).toBeUndefined()
})
