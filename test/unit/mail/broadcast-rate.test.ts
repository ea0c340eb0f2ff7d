import { expect, test } from 'vitest'
import { allowedNow, nextAfter, queueLimit } from '../../../appliance/mail/broadcast-rate.ts'

const SECOND = 1000
const NOW = 1_000_000_000

test('without a rate, everything is allowed', () => {
  const pace = { hourlyRate: null, nextAt: null }
  expect([allowedNow(pace, NOW), nextAfter(pace, 500, NOW), queueLimit(null)]).toEqual([
    Infinity,
    null,
    Infinity,
  ])
})

test('emails are spread evenly: one each 10 seconds for 360 per hour', () => {
  let pace = { hourlyRate: 360, nextAt: null as number | null }
  const sent: number[] = []
  for (let now = NOW; now < NOW + 60 * SECOND; now += SECOND) {
    const count = allowedNow(pace, now)
    pace = { ...pace, nextAt: nextAfter(pace, count, now) }
    for (let n = 0; n < count; n++) sent.push((now - NOW) / SECOND)
  }
  expect(sent).toEqual([0, 10, 20, 30, 40, 50])
})

test('a fast rate is kept although the runner looks once a second', () => {
  let pace = { hourlyRate: 36_000, nextAt: null as number | null }
  let sent = 0
  for (let now = NOW; now < NOW + 3600 * SECOND; now += SECOND) {
    const count = allowedNow(pace, now)
    pace = { ...pace, nextAt: nextAfter(pace, count, now) }
    sent += count
  }
  expect(sent).toBeGreaterThan(35_900)
  expect(sent).toBeLessThanOrEqual(36_000)
})

test('what was missed during a pause or a restart is not made up for', () => {
  const pace = { hourlyRate: 360, nextAt: NOW }
  expect(allowedNow(pace, NOW + 3600 * SECOND)).toBe(2)
  expect(allowedNow({ ...pace, hourlyRate: 3600 }, NOW + 3600 * SECOND)).toBe(11)
})

test('a lower rate before, or a clock that is set back, delays nothing', () => {
  expect(allowedNow({ hourlyRate: 3600, nextAt: NOW + 3600 * SECOND }, NOW)).toBe(1)
  expect(nextAfter({ hourlyRate: 3600, nextAt: NOW + 3600 * SECOND }, 1, NOW)).toBe(NOW + SECOND)
})

test('a provider keeps a quarter of an hour queued, at least 20', () => {
  expect([1, 80, 100, 1_000_000].map(queueLimit)).toEqual([20, 20, 25, 250_000])
})
