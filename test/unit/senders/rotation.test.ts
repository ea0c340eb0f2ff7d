import { describe, expect, test } from 'vitest'
import { LIFETIME } from '../../../appliance/queue/schedule.ts'
import {
  newSelectors,
  nextProof,
  nextRetirement,
  RETIRE_AFTER,
  turnKeys,
} from '../../../appliance/senders/rotation.ts'
import type { DkimKeyState, RecordStatus } from '../../../appliance/storage/storage.ts'

const T0 = Date.UTC(2026, 0, 1)
const rsa = (id: string, state: DkimKeyState, retireAt: number | null = null) => ({
  ...{ id, selector: id, algorithm: 'rsa-sha256' as const, state, stateSince: T0, retireAt },
})
const ed25519 = (id: string, state: DkimKeyState) => ({
  ...{ id, selector: id, algorithm: 'ed25519-sha256' as const, state, stateSince: T0, retireAt: null },
})
const seen = (statuses: Record<string, RecordStatus>) =>
  Object.entries(statuses).map(([selector, status]) => ({
    ...{ key: `DKIM ${selector}`, status, found: [], note: null, checkedAt: T0, since: T0 },
  }))

describe('DKIM keys of a domain', () => {
  test("switch only when the next key's record is seen", () => {
    const keys = [rsa('one', 'active'), rsa('two', 'pending')]
    for (const status of ['pending', 'failed', 'temporary_failure'] as const)
      expect(turnKeys(keys, seen({ one: 'verified', two: status }), T0)).toEqual([])
    expect(turnKeys(keys, seen({ one: 'pending', two: 'verified' }), T0)).toEqual([
      { id: 'one', state: 'retiring', retireAt: T0 + RETIRE_AFTER },
      { id: 'two', state: 'active', retireAt: null },
    ])
  })

  test('keep signing when their own record is gone', () => {
    expect(turnKeys([rsa('one', 'active')], seen({ one: 'failed' }), T0)).toEqual([])
  })

  test('of type Ed25519 sign only while their record is published', () => {
    expect(turnKeys([ed25519('e', 'pending')], seen({ e: 'verified' }), T0)).toEqual([
      { id: 'e', state: 'active', retireAt: null },
    ])
    expect(turnKeys([ed25519('e', 'active')], seen({ e: 'temporary_failure' }), T0)).toEqual([])
    expect(turnKeys([ed25519('e', 'active')], seen({ e: 'pending' }), T0)).toEqual([
      { id: 'e', state: 'pending', retireAt: null },
    ])
    expect(turnKeys([rsa('r', 'active'), ed25519('e', 'pending')], seen({ e: 'verified' }), T0)).toEqual([
      { id: 'e', state: 'active', retireAt: null },
    ])
  })

  test('retire when no mail that they signed can still be in the queue', () => {
    expect(RETIRE_AFTER).toBeGreaterThan(LIFETIME)
    const keys = [rsa('one', 'retiring', T0 + 5), rsa('two', 'active')]
    expect(nextRetirement(keys)).toBe(T0 + 5)
    expect(turnKeys(keys, [], T0 + 4)).toEqual([])
    expect(turnKeys(keys, [], T0 + 5)).toEqual([{ id: 'one', state: 'retired', retireAt: null }])
  })

  test('that are pending are checked soon, later at least daily', () => {
    const day = 86_400_000
    expect(nextProof([rsa('one', 'active'), ed25519('e', 'pending')], T0)).toBeUndefined()
    expect(nextProof([rsa('two', 'pending')], T0)).toBe(T0 + 30_000)
    expect(nextProof([rsa('two', 'pending')], T0 + 10 * day)).toBe(T0 + 11 * day)
  })
})

test('selectors are plain at first, later carry a date, and are never reused', () => {
  expect(newSelectors([], T0)).toEqual({ rsa: 'posthaste', ed25519: 'posthaste-ed25519' })
  const first = newSelectors(['posthaste'], T0)
  expect(first).toEqual({ rsa: 'posthaste-20260101', ed25519: 'posthaste-ed25519-20260101' })
  expect(newSelectors(['posthaste', first.ed25519], T0).rsa).toBe('posthaste-20260101-2')
})
