import { expect, test } from 'vitest'
import {
  countAllowedNow,
  computeNextTime,
  computeProviderQueueLimit,
} from '../../../appliance/mail/broadcast-rate.ts'

const SECOND = 1000
const NOW = 1_000_000_000

test('allows everything without a rate', () => {
  const pace = { hourlyRate: null, nextAt: null }
  expect([
    countAllowedNow(pace, NOW),
    computeNextTime(pace, 500, NOW),
    computeProviderQueueLimit(null),
  ]).toEqual([Infinity, null, Infinity])
})

test('spreads emails evenly: one each 10 seconds for 360 per hour', () => {
  let pace = { hourlyRate: 360, nextAt: null as number | null }
  const sent: number[] = []
  for (let now = NOW; now < NOW + 60 * SECOND; now += SECOND) {
    const count = countAllowedNow(pace, now)
    pace = { ...pace, nextAt: computeNextTime(pace, count, now) }
    for (let n = 0; n < count; n++) sent.push((now - NOW) / SECOND)
  }
  expect(sent).toEqual([0, 10, 20, 30, 40, 50])
})

test('keeps a fast rate although the runner checks only once a second', () => {
  let pace = { hourlyRate: 36_000, nextAt: null as number | null }
  let sent = 0
  for (let now = NOW; now < NOW + 3600 * SECOND; now += SECOND) {
    const count = countAllowedNow(pace, now)
    pace = { ...pace, nextAt: computeNextTime(pace, count, now) }
    sent += count
  }
  expect(sent).toBeGreaterThan(35_900)
  expect(sent).toBeLessThanOrEqual(36_000)
})

test('does not catch up on emails missed during a pause or a restart', () => {
  const pace = { hourlyRate: 360, nextAt: NOW }
  expect(countAllowedNow(pace, NOW + 3600 * SECOND)).toBe(2)
  expect(countAllowedNow({ ...pace, hourlyRate: 3600 }, NOW + 3600 * SECOND)).toBe(11)
})

test('a lower rate before, or a clock that was set back, causes no delay', () => {
  expect(countAllowedNow({ hourlyRate: 3600, nextAt: NOW + 3600 * SECOND }, NOW)).toBe(1)
  expect(computeNextTime({ hourlyRate: 3600, nextAt: NOW + 3600 * SECOND }, 1, NOW)).toBe(NOW + SECOND)
})

test('the queue of a provider holds a quarter hour of emails, at least 20', () => {
  expect([1, 80, 100, 1_000_000].map(computeProviderQueueLimit)).toEqual([20, 20, 25, 250_000])
})
