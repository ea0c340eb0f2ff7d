import { describe, expect, test } from 'vitest'
import { formatTotpSecret, newTotpSecret, findTotpStep } from '../../../appliance/accounts/totp.ts'
import { createWrongCodeThrottle } from '../../../appliance/accounts/factors.ts'
import { createTestClock } from '../../world/clock.ts'
import { hashRecoveryCode, newRecoveryCodes } from '../../../appliance/accounts/second-step.ts'

/** RFC 6238 Appendix B, SHA-1: the last six of its eight digits. A six-digit code consists of these (RFC 4226 §5.3). */
const VECTORS: [seconds: number, code: string][] = [
  [59, '287082'],
  [1111111109, '081804'],
  [1111111111, '050471'],
  [1234567890, '005924'],
  [2000000000, '279037'],
  [20000000000, '353130'],
]
const secret = new Uint8Array(Buffer.from('12345678901234567890'))

describe('a TOTP code', () => {
  test.each(VECTORS)('the TOTP code at second %i matches RFC 6238: %s', (seconds, code) => {
    expect(findTotpStep(secret, code, seconds * 1000)).toBe(Math.floor(seconds / 30))
  })

  test('a TOTP code is accepted one step early or late, and counts for its own step', () => {
    const at = (seconds: number) => findTotpStep(secret, '050471', seconds * 1000)
    const step = Math.floor(1111111111 / 30)
    expect([at(1111111111 - 30), at(1111111111 + 30)]).toEqual([step, step])
    expect([at(1111111111 - 61), at(1111111111 + 60)]).toEqual([undefined, undefined])
  })

  test.each(['', '05047', '0504710', 'abcdef', '０５０４７１', '-50471'])(
    'rejects the malformed TOTP code %j',
    (code) => {
      expect(findTotpStep(secret, code, 1111111111_000)).toBeUndefined()
    },
  )

  test('accepts a TOTP code typed in two groups', () => {
    expect(findTotpStep(secret, ' 050 471 ', 1111111111_000)).toBeDefined()
  })

  test('a TOTP secret has 160 bits, and is shown in base32 and as an otpauth: URI', () => {
    expect(newTotpSecret()).toHaveLength(20)
    expect(newTotpSecret()).not.toEqual(newTotpSecret())
    const told = formatTotpSecret(secret, { account: 'a@b.example', issuer: 'Posthaste mail.example' })
    expect(told.secret).toBe('GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ')
    const uri = new URL(told.uri)
    expect([uri.protocol, uri.searchParams.get('secret')]).toEqual(['otpauth:', told.secret])
    expect(uri.searchParams.get('issuer')).toBe('Posthaste mail.example')
  })
})

describe('a recovery code', () => {
  test('creates ten unique recovery codes, and accepts them in any usual spelling', () => {
    const codes = newRecoveryCodes()
    expect(new Set(codes).size).toBe(10)
    for (const code of codes) {
      expect(code).toMatch(/^([0-9a-hjkmnp-tv-z]{4}-){3}[0-9a-hjkmnp-tv-z]{4}$/)
      const typed = ` ${code.toUpperCase().replaceAll('-', ' ').replaceAll('0', 'O').replaceAll('1', 'l')}`
      expect(hashRecoveryCode(typed)).toBe(hashRecoveryCode(code))
    }
  })

  test.each(['', '0000', 'uuuu-uuuu-uuuu-uuuu', '0000-0000-0000-00000'])(
    'rejects the malformed recovery code %j',
    (code) => {
      expect(hashRecoveryCode(code)).toBeUndefined()
    },
  )
})

test('after five wrong codes, only that user must wait for 15 minutes', async () => {
  const clock = createTestClock()
  const wrong = createWrongCodeThrottle(clock)
  for (let n = 0; n < 8; n++) {
    expect(wrong.attempt(['right'])).toBe(0)
    wrong.takeBack('right')
  }
  for (let n = 0; n < 5; n++) expect(wrong.attempt(['me'])).toBe(0)
  expect(wrong.attempt(['me'])).toBe(900)
  expect(wrong.attempt(['other'])).toBe(0)
  await clock.advance(900_000)
  expect(wrong.attempt(['me'])).toBe(0)
})

test('of five wrong codes, three nodes allow two each', async () => {
  const wrong = createWrongCodeThrottle(createTestClock(), (limit) => Math.ceil(limit / 3))
  for (let n = 0; n < 2; n++) expect(wrong.attempt(['me'])).toBe(0)
  expect(wrong.attempt(['me'])).toBe(900)
})
