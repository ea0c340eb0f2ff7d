import * as fc from '../../world/fast-check.ts'
import { describe, expect, test } from 'vitest'
import { createRunning } from '../../../appliance/intake/idempotency.ts'
import { digestOf } from '../../../appliance/mail/json-body.ts'
import { Refusal } from '../../../appliance/mail/refusals.ts'
import { fingerprintOf, readIdempotencyKey } from '../../../appliance/intake/intake.ts'

const refusedKey = (value: string): string => {
  try {
    readIdempotencyKey(value)
  } catch (error) {
    if (error instanceof Refusal) return error.key
    throw error
  }
  throw new Error('It was not refused.')
}

describe('an idempotency key', () => {
  test('is the field value, of 1 to 256 characters', () => {
    expect(readIdempotencyKey(undefined)).toBeNull()
    expect(readIdempotencyKey('k')).toBe('k')
    expect(readIdempotencyKey('x'.repeat(256))).toBe('x'.repeat(256))
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
  test('does not depend on key order or white space', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(digestOf(shuffled(value))).toBe(digestOf(value))
        expect(digestOf(JSON.parse(JSON.stringify(value, null, 3)))).toBe(digestOf(value))
      }),
    )
  })

  test('differs for different bodies', () => {
    const bodies = [{ a: 1 }, { a: '1' }, { a: [1] }, { a: { 0: 1 } }, [1, 2], [2, 1], null, '', {}, []]
    expect(new Set(bodies.map((body) => digestOf(body))).size).toBe(bodies.length)
    expect(digestOf(JSON.parse('{"__proto__":1}'))).not.toBe(digestOf({}))
    expect(fingerprintOf('a', 'strict')).not.toBe(fingerprintOf('a', 'permissive'))
  })
})

describe('a running request', () => {
  test('blocks others with the same idempotency key until it ends or fails', async () => {
    const running = createRunning()
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
