import { describe, expect, test } from 'vitest'
import { RETRY_PERIOD } from '../../../appliance/queue/schedule.ts'
import {
  pickSelectors,
  computeNextKeyCheck,
  findNextRetirement,
  RETIREMENT_PERIOD,
  advanceKeyStates,
} from '../../../appliance/senders/rotation.ts'
import type { DkimKeyState, RecordStatus } from '../../../appliance/storage/storage.ts'

const T0 = Date.UTC(2026, 0, 1)
const rsa = (id: string, state: DkimKeyState, retireAt: number | null = null) => ({
  id,
  selector: id,
  algorithm: 'rsa-sha256' as const,
  state,
  stateSince: T0,
  retireAt,
})
const ed25519 = (id: string, state: DkimKeyState) => ({
  id,
  selector: id,
  algorithm: 'ed25519-sha256' as const,
  state,
  stateSince: T0,
  retireAt: null,
})
const seen = (statuses: Record<string, RecordStatus>) =>
  Object.entries(statuses).map(([selector, status]) => ({
    key: `DKIM ${selector}`,
    status,
    found: [],
    note: null,
    checkedAt: T0,
    since: T0,
  }))

describe('DKIM keys of a domain', () => {
  test('keys switch only when the record of the next key is found', () => {
    const keys = [rsa('one', 'active'), rsa('two', 'pending')]
    for (const status of ['pending', 'failed', 'temporary_failure'] as const)
      expect(advanceKeyStates(keys, seen({ one: 'verified', two: status }), T0)).toEqual([])
    expect(advanceKeyStates(keys, seen({ one: 'pending', two: 'verified' }), T0)).toEqual([
      { id: 'one', state: 'retiring', retireAt: T0 + RETIREMENT_PERIOD },
      { id: 'two', state: 'active', retireAt: null },
    ])
  })

  test('a key keeps signing when its own record is gone', () => {
    expect(advanceKeyStates([rsa('one', 'active')], seen({ one: 'failed' }), T0)).toEqual([])
  })

  test('an Ed25519 key signs only while its record is published', () => {
    expect(advanceKeyStates([ed25519('e', 'pending')], seen({ e: 'verified' }), T0)).toEqual([
      { id: 'e', state: 'active', retireAt: null },
    ])
    expect(advanceKeyStates([ed25519('e', 'active')], seen({ e: 'temporary_failure' }), T0)).toEqual([])
    expect(advanceKeyStates([ed25519('e', 'active')], seen({ e: 'pending' }), T0)).toEqual([
      { id: 'e', state: 'pending', retireAt: null },
    ])
    expect(
      advanceKeyStates([rsa('r', 'active'), ed25519('e', 'pending')], seen({ e: 'verified' }), T0),
    ).toEqual([{ id: 'e', state: 'active', retireAt: null }])
  })

  test('a key retires when no mail that it signed can still be in the queue', () => {
    expect(RETIREMENT_PERIOD).toBeGreaterThan(RETRY_PERIOD)
    const keys = [rsa('one', 'retiring', T0 + 5), rsa('two', 'active')]
    expect(findNextRetirement(keys)).toBe(T0 + 5)
    expect(advanceKeyStates(keys, [], T0 + 4)).toEqual([])
    expect(advanceKeyStates(keys, [], T0 + 5)).toEqual([{ id: 'one', state: 'retired', retireAt: null }])
  })

  test('a pending key is checked soon, later at least daily', () => {
    const day = 86_400_000
    expect(computeNextKeyCheck([rsa('one', 'active'), ed25519('e', 'pending')], T0)).toBeUndefined()
    expect(computeNextKeyCheck([rsa('two', 'pending')], T0)).toBe(T0 + 30_000)
    expect(computeNextKeyCheck([rsa('two', 'pending')], T0 + 10 * day)).toBe(T0 + 11 * day)
  })
})

test('selectors are plain at first, carry a date later, and are never reused', () => {
  expect(pickSelectors([], T0)).toEqual({ rsa: 'posthaste', ed25519: 'posthaste-ed25519' })
  const first = pickSelectors(['posthaste'], T0)
  expect(first).toEqual({ rsa: 'posthaste-20260101', ed25519: 'posthaste-ed25519-20260101' })
  expect(pickSelectors(['posthaste', first.ed25519], T0).rsa).toBe('posthaste-20260101-2')
})
