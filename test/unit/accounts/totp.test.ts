import { describe, expect, test } from 'vitest'
import { describeSecret, newTotpSecret, totpStep } from '../../../appliance/accounts/totp.ts'
import { createWrongCodes } from '../../../appliance/accounts/factors.ts'
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

describe('codes of an app', () => {
  test.each(VECTORS)('at second %i the code of RFC 6238 is %s', (seconds, code) => {
    expect(totpStep(secret, code, seconds * 1000)).toBe(Math.floor(seconds / 30))
  })

  test('are taken one step early and late, and belong to their own step', () => {
    const at = (seconds: number) => totpStep(secret, '050471', seconds * 1000)
    const step = Math.floor(1111111111 / 30)
    expect([at(1111111111 - 30), at(1111111111 + 30)]).toEqual([step, step])
    expect([at(1111111111 - 61), at(1111111111 + 60)]).toEqual([undefined, undefined])
  })

  test.each(['', '05047', '0504710', 'abcdef', '０５０４７１', '-50471'])('%j is none', (code) => {
    expect(totpStep(secret, code, 1111111111_000)).toBeUndefined()
  })

  test('may be typed in two groups', () => {
    expect(totpStep(secret, ' 050 471 ', 1111111111_000)).toBeDefined()
  })

  test('come from a secret of 160 bits that apps can read', () => {
    expect(newTotpSecret()).toHaveLength(20)
    expect(newTotpSecret()).not.toEqual(newTotpSecret())
    const told = describeSecret(secret, { account: 'a@b.example', issuer: 'Posthaste mail.example' })
    expect(told.secret).toBe('GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ')
    const uri = new URL(told.uri)
    expect([uri.protocol, uri.searchParams.get('secret')]).toEqual(['otpauth:', told.secret])
    expect(uri.searchParams.get('issuer')).toBe('Posthaste mail.example')
  })
})

describe('recovery codes', () => {
  test('are ten, each another, and are read however they are typed', () => {
    const codes = newRecoveryCodes()
    expect(new Set(codes).size).toBe(10)
    for (const code of codes) {
      expect(code).toMatch(/^([0-9a-hjkmnp-tv-z]{4}-){3}[0-9a-hjkmnp-tv-z]{4}$/)
      const typed = ` ${code.toUpperCase().replaceAll('-', ' ').replaceAll('0', 'O').replaceAll('1', 'l')}`
      expect(hashRecoveryCode(typed)).toBe(hashRecoveryCode(code))
    }
  })

  test.each(['', '0000', 'uuuu-uuuu-uuuu-uuuu', '0000-0000-0000-00000'])('%j is none', (code) => {
    expect(hashRecoveryCode(code)).toBeUndefined()
  })
})

test('after five wrong codes a person waits a quarter of an hour, and nobody else does', async () => {
  const clock = createTestClock()
  const wrong = createWrongCodes(clock)
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
