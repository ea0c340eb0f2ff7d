import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { createSealer } from '../../../appliance/secrets/seal.ts'

const sealer = createSealer(Buffer.alloc(32, 7))
const place = 'webhooks.secret:one'
const value = Buffer.from('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')

describe('a sealed value', () => {
  test('a sealed value can be decrypted at its own place', () => {
    for (const bytes of [value, Buffer.alloc(0), randomBytes(5000)])
      expect(sealer.open(sealer.seal(bytes, place), place)).toEqual(bytes)
  })

  test('a sealed value contains its version and key ID, and differs each time', () => {
    const sealed = sealer.seal(value, place)
    expect(sealed).toMatch(new RegExp(`^sealed:1:${sealer.keyId}:[A-Za-z0-9_-]+$`))
    expect(sealer.keyId).toMatch(/^[0-9a-f]{16}$/)
    expect(sealed).not.toBe(sealer.seal(value, place))
    expect(sealed).not.toContain(Buffer.alloc(32, 7).toString('hex').slice(0, 16))
  })

  test('a sealed value cannot be decrypted in another context', () => {
    const sealed = sealer.seal(value, place)
    expect(() => sealer.open(sealed, 'webhooks.secret:two')).toThrow('cannot be decrypted')
    expect(() => sealer.open(sealed, 'totp_factors.secret:one')).toThrow('totp_factors.secret:one')
  })

  test('a sealed value cannot be decrypted after any byte is changed', () => {
    const sealed = sealer.seal(value, place)
    const begin = sealed.lastIndexOf(':') + 1
    const bytes = Buffer.from(sealed.slice(begin), 'base64url')
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes)
      changed[at]! ^= 1
      expect(() => sealer.open(sealed.slice(0, begin) + changed.toString('base64url'), place)).toThrow()
    }
    for (const length of [0, 27, bytes.length - 1])
      expect(() =>
        sealer.open(sealed.slice(0, begin) + bytes.subarray(0, length).toString('base64url'), place),
      ).toThrow(/cannot be decrypted|cut off/)
  })

  test('a sealed value cannot be decrypted with another key, and the error contains both key IDs', () => {
    const other = createSealer(Buffer.alloc(32, 8))
    expect(() => other.open(sealer.seal(value, place), place)).toThrow(
      `The secret in ${place} is encrypted with the master key ${sealer.keyId}; this process has ${other.keyId}.`,
    )
  })

  test('a value that is plain or of an unknown version is rejected without being quoted', () => {
    const newer = sealer.seal(value, place).replace('sealed:1:', 'sealed:2:')
    expect(() => sealer.open(newer, place)).toThrow('was encrypted by a newer version of Posthaste')
    expect(() => sealer.open(value.toString(), place)).toThrow(`The secret in ${place} is not encrypted.`)
  })
})

test('a master key must have 32 bytes', () => {
  for (const bytes of [0, 16, 31, 33]) expect(() => createSealer(randomBytes(bytes))).toThrow(RangeError)
})
