import { describe, expect, test } from 'vitest'
import { createNodeThrottle } from '../../../appliance/http/own-account.ts'
import { createSignInThrottle } from '../../../appliance/http/sign-in-throttle.ts'
import { createTestClock } from '../../world/clock.ts'

const secret = new Uint8Array(32).fill(7)
const owner = 'owner@acme.example'

/** Creates a throttle, and a botnet's attempts, each from another network. */
function scene() {
  const clock = createTestClock()
  const throttle = createSignInThrottle(clock, secret)
  let networks = 0
  const fromAnywhere = (email = owner, device?: string) => {
    networks += 1
    return throttle.attempt({ ip: `2001:db8:${networks.toString(16)}::1`, email, device })
  }
  return { clock, throttle, fromAnywhere }
}

describe('guessing passwords from many networks', () => {
  test('guessing from many networks is limited to 50 attempts an hour for one account', async () => {
    const { clock, fromAnywhere } = scene()
    let let_through = 0
    for (let minute = 0; minute < 60; minute++) {
      for (let i = 0; i < 20; i++) if (fromAnywhere() === 0) let_through += 1
      await clock.advance(59_000)
    }
    expect(let_through).toBe(50)
    await clock.advance(3_600_000)
    expect(fromAnywhere()).toBe(0)
  })

  test('trying 25,000 other accounts allows no more attempts on one account', async () => {
    const { clock, fromAnywhere } = scene()
    for (let minute = 0; minute < 5; minute++) {
      for (let i = 0; i < 9; i++) expect(fromAnywhere()).toBe(0)
      await clock.advance(60_000)
    }
    for (let i = 0; i < 25_000; i++) fromAnywhere(`nobody-${i}@acme.example`)
    for (let i = 0; i < 5; i++) expect(fromAnywhere()).toBe(0)
    expect(fromAnywhere()).toBeGreaterThan(0)
  })

  test('guessing does not lock out the owner in a known browser', () => {
    const { throttle, fromAnywhere } = scene()
    const device = throttle.deviceFor(owner, undefined)
    for (let i = 0; i < 100; i++) fromAnywhere()
    expect(fromAnywhere()).toBeGreaterThan(0)
    expect(fromAnywhere(' Owner@ACME.example', device)).toBe(0)
  })

  test('guessing is also limited with a stolen device cookie', () => {
    const { throttle, fromAnywhere } = scene()
    const device = throttle.deviceFor(owner, undefined)
    for (let i = 0; i < 10; i++) expect(fromAnywhere(owner, device)).toBe(0)
    expect(fromAnywhere(owner, device)).toBeGreaterThan(0)
  })

  test('another account’s device cookie or a forged one allows no further attempts', () => {
    const { throttle, fromAnywhere } = scene()
    const other = throttle.deviceFor('mallory@evil.example', undefined)
    for (let i = 0; i < 10; i++) fromAnywhere()
    for (const device of [other, 'x', 'x.y', '.', `${other}.z`, other.replace('.', ''), ''])
      expect(fromAnywhere(owner, device)).toBeGreaterThan(0)
  })
})

test('a network that tries many accounts is limited without using up the limits of the accounts', () => {
  const { throttle, fromAnywhere } = scene()
  const attempt = (n: number) =>
    throttle.attempt({ ip: '192.0.2.1', email: `a${n}@acme.example`, device: undefined })
  for (let i = 0; i < 10; i++) expect(attempt(i)).toBe(0)
  for (let i = 0; i < 100; i++) expect(attempt(11)).toBeGreaterThan(0)
  expect(fromAnywhere('a11@acme.example')).toBe(0)
})

test('a known browser keeps its device cookie, and gets a new one for another account', () => {
  const { throttle } = scene()
  const device = throttle.deviceFor(owner, undefined)
  expect(throttle.deviceFor(owner, device)).toBe(device)
  expect(throttle.deviceFor('bob@acme.example', device)).not.toBe(device)
})

test('a node allows its share of attempts with codes and passwords, and at least two', () => {
  let nodes = 1
  const node = { shareOf: (limit: number) => Math.ceil(limit / nodes) }
  const throttle = createNodeThrottle({ clock: createTestClock(), node }, 10, 60_000)
  const allowed = (key: string): number => {
    for (let times = 0; ; times++) if (throttle.attempt([key]) > 0) return times
  }
  expect(allowed('one')).toBe(10)
  nodes = 3
  expect(allowed('three')).toBe(4)
  nodes = 20
  expect(allowed('twenty')).toBe(2)
})
