import { expect, test } from 'vitest'
import {
  formatPercent,
  computeProgress,
  computeRate,
  formatShare,
  addSample,
} from '../../../ui/src/state/broadcast-progress.ts'

test('a suppressed address counts neither as sent nor as a recipient', () => {
  const counts = { delivered: 3, clicked: 1, bounced: 1, suppressed: 2, queued: 3 }
  const reach = { opened: 3, clicked: 2, unsubscribed: 1 }
  expect(computeProgress({ recipients: 10, counts, ...reach })).toEqual({
    recipients: 8,
    tried: 5,
    delivered: 4,
    bounced: 1,
    complained: 0,
    ...reach,
  })
})

test('small percentages keep enough digits to compare with a limit of 0.1%', () => {
  const shares = [0, 0.0004, 0.0096, 0.013, 0.09, 0.124, 1].map((share) => formatPercent(share, 1))
  expect(shares).toEqual(['0%', '0.04%', '0.96%', '1.3%', '9%', '12%', '100%'])
})

test('the sending rate is that of the last minute, and decreases while nothing is sent', () => {
  let samples = addSample([], { at: 0, tried: 0 })
  expect(computeRate(samples, 60_000)).toBeNull()
  samples = addSample(samples, { at: 5000, tried: 100 })
  expect(computeRate(samples, 5000)).toBeNull()
  expect(computeRate(samples, 10_000)).toBe(600)
  expect(computeRate(samples, 60_000)).toBe(100)
  samples = addSample(samples, { at: 61_000, tried: 240 })
  expect(samples).toHaveLength(2)
  expect(computeRate(samples, 61_000)).toBe(150)
})

test('the text of a share is empty if the total is zero', () => {
  expect(formatShare(0, 0, 'sent')).toBe('')
  expect(formatShare(1, 8, 'sent')).toBe('13% of sent')
})
