import { describe, expect, test } from 'vitest'
import { ofRequests, takenShare } from '../../../ui/src/state/webhook-requests.ts'

const day = (count: number, taken: number, median_ms: number | null = 12, p95_ms: number | null = 1240) => ({
  ...{ count, taken, median_ms, p95_ms },
})

describe('how the requests of a day went', () => {
  test('the share is 100 % only when all were taken', () => {
    expect(takenShare(day(1000, 1000))).toBe('100 %')
    expect(takenShare({ count: 100_000, taken: 99_999 })).toBe('99.9 %')
    expect(takenShare(day(3, 1))).toBe('33.3 %')
    expect(takenShare(day(3, 0))).toBe('0 %')
    expect(takenShare(day(0, 0))).toBe('no requests')
  })

  test('a sentence says of how many, and how long answers took', () => {
    expect(ofRequests(day(200, 197))).toBe(
      '98.5 % of 200 requests in the last 24 hours were taken. Answers: median 12 ms, 95 % within 1.24 s.',
    )
    expect(ofRequests(day(1, 1))).toMatch(/^100 % of 1 request in the last 24 hours was taken\. /)
    expect(ofRequests(day(0, 0, null, null))).toBe('No requests in the last 24 hours.')
    expect(ofRequests(day(4, 0, null, null))).toBe(
      '0 % of 4 requests in the last 24 hours were taken; none was answered.',
    )
  })
})
