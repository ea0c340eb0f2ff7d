import * as fc from '../../world/fast-check.ts'
import { describe, expect, test } from 'vitest'
import { createRunningKeys } from '../../../appliance/intake/idempotency.ts'
import { computeBodyDigest } from '../../../appliance/mail/json-body.ts'
import { Refusal } from '../../../appliance/mail/refusals.ts'
import { computeFingerprint, parseIdempotencyKey } from '../../../appliance/intake/intake.ts'

const refusedKey = (value: string): string => {
  try {
    parseIdempotencyKey(value)
  } catch (error) {
    if (error instanceof Refusal) return error.key
    throw error
  }
  throw new Error('It was not refused.')
}

describe('an idempotency key', () => {
  test('an idempotency key is the field value, of 1 to 256 characters', () => {
    expect(parseIdempotencyKey(undefined)).toBeNull()
    expect(parseIdempotencyKey('k')).toBe('k')
    expect(parseIdempotencyKey('x'.repeat(256))).toBe('x'.repeat(256))
    expect(refusedKey('')).toBe('invalid_idempotency_key')
    expect(refusedKey('x'.repeat(257))).toBe('invalid_idempotency_key')
  })
})

/** Returns the same JSON value with its object keys in another order. */
function shuffled(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shuffled)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([name, inner]) => [name, shuffled(inner)] as const)
  return Object.fromEntries(entries.reverse())
}

describe('the request fingerprint', () => {
  test('the fingerprint does not depend on key order or white space', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(computeBodyDigest(shuffled(value))).toBe(computeBodyDigest(value))
        expect(computeBodyDigest(JSON.parse(JSON.stringify(value, null, 3)))).toBe(computeBodyDigest(value))
      }),
    )
  })

  test('the fingerprint differs for different bodies', () => {
    const bodies = [{ a: 1 }, { a: '1' }, { a: [1] }, { a: { 0: 1 } }, [1, 2], [2, 1], null, '', {}, []]
    expect(new Set(bodies.map((body) => computeBodyDigest(body))).size).toBe(bodies.length)
    expect(computeBodyDigest(JSON.parse('{"__proto__":1}'))).not.toBe(computeBodyDigest({}))
    expect(computeFingerprint('a', 'strict')).not.toBe(computeFingerprint('a', 'permissive'))
  })
})

describe('a running request', () => {
  test('a running request blocks others with the same idempotency key until it ends or fails', async () => {
    const running = createRunningKeys()
    const name = (key: string) => ({ teamId: 'team', scope: 'POST /emails', key })
    const first = Promise.withResolvers<string>()
    const one = running.alone(name('a'), () => first.promise)
    await expect(running.alone(name('a'), async () => 'two')).rejects.toThrow('still in progress')
    expect(await running.alone(name('b'), async () => 'other')).toBe('other')
    first.reject(new Error('failed'))
    await expect(one).rejects.toThrow('failed')
    expect(await running.alone(name('a'), async () => 'three')).toBe('three')
  })
})
