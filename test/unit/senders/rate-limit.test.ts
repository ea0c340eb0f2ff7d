import * as fc from '../../world/fast-check.ts'
import { describe, expect, test } from 'vitest'
import { refillBucket, takeToken, type Bucket } from '../../../appliance/senders/rate-limit.ts'
import type { Clock } from '../../../appliance/clock/clock.ts'
import { createRateLimiter } from '../../../appliance/senders/senders.ts'

/** Creates a clock that only moves when told to. */
function stillClock(): Clock & { move(ms: number): void } {
  let now = Date.UTC(2026, 0, 1)
  return { now: () => now, after: () => () => undefined, move: (ms) => void (now += ms) }
}

/** Returns how many requests at these times an unused bucket allows. */
function allowedAt(moments: number[], perSecond: number): number {
  let bucket: Bucket | undefined
  let allowed = 0
  for (const now of moments) {
    const result = takeToken(refillBucket(bucket, perSecond, now), perSecond)
    bucket = result.bucket
    if (result.allowance.allowed) allowed++
  }
  return allowed
}

const rates = fc.integer({ min: 1, max: 200 })
const start = Date.UTC(2026, 0, 1)

describe('the token bucket', () => {
  test('the token bucket admits at most the rate times the elapsed time plus one burst', () => {
    fc.assert(
      fc.property(rates, fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 300 }), (rate, steps) => {
        let now = start
        const moments = steps.map((step) => (now += step))
        const elapsed = now - start
        expect(allowedAt([start, ...moments], rate)).toBeLessThanOrEqual(
          Math.floor((rate * elapsed) / 1000) + rate,
        )
      }),
    )
  })

  test('the token bucket admits at most the rate times the length plus one burst in any window', () => {
    const steps = fc.array(fc.integer({ min: 0, max: 60 }), { minLength: 1, maxLength: 200 })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 30 }), steps, fc.nat(), fc.nat(), (rate, gaps, a, b) => {
        let now = start
        const moments = gaps.map((gap) => (now += gap))
        let bucket: Bucket | undefined
        const passed = moments.filter((moment) => {
          const result = takeToken(refillBucket(bucket, rate, moment), rate)
          bucket = result.bucket
          return result.allowance.allowed
        })
        const [from, to] = [moments[a % moments.length]!, moments[b % moments.length]!].sort((x, y) => x - y)
        const inside = passed.filter((moment) => moment >= from! && moment <= to!).length
        expect(inside).toBeLessThanOrEqual(Math.floor((rate * (to! - from!)) / 1000) + rate)
      }),
    )
  })

  test('the token bucket admits all requests that stay within the rate', () => {
    fc.assert(
      fc.property(rates, fc.integer({ min: 1, max: 300 }), (rate, count) => {
        const gap = Math.ceil(1000 / rate)
        const moments = Array.from({ length: count }, (_, n) => start + n * gap)
        expect(allowedAt(moments, rate)).toBe(count)
      }),
    )
  })

  test('the token bucket neither gains nor loses tokens when the clock is set back', () => {
    fc.assert(
      fc.property(
        rates,
        fc.array(fc.integer({ min: -5_000, max: 500 }), { maxLength: 300 }),
        (rate, steps) => {
          let now = start
          const moments = steps.map((step) => (now += step))
          // Only time that runs forward adds tokens, however often the clock is set back.
          const forward = steps.filter((step) => step > 0).reduce((sum, step) => sum + step, 0)
          expect(allowedAt([start, ...moments], rate)).toBeLessThanOrEqual(
            Math.floor((rate * forward) / 1000) + rate,
          )
        },
      ),
    )
    // The clock is set back one hour. One second later, the bucket refills as before.
    const back = [...Array<number>(10).fill(start), start - 3_600_000, start - 3_599_000]
    expect(allowedAt(back, 10)).toBe(11)
  })

  test('the token bucket reports the remaining tokens correctly', () => {
    fc.assert(
      fc.property(rates, fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 50 }), (rate, steps) => {
        let bucket: Bucket | undefined
        let now = start
        let remaining = 0
        for (const step of [0, ...steps]) {
          const result = takeToken(refillBucket(bucket, rate, (now += step)), rate)
          bucket = result.bucket
          remaining = result.allowance.remaining
          expect(result.allowance.resetSeconds).toBe(1)
          expect(result.allowance.retrySeconds).toBe(result.allowance.allowed ? 0 : 1)
        }
        for (let left = remaining; left >= 0; left--) {
          const result = takeToken(refillBucket(bucket, rate, now), rate)
          bucket = result.bucket
          expect(result.allowance.allowed).toBe(left > 0)
        }
      }),
    )
  })
})

describe('the rate limiter', () => {
  test('the rate limiter has a bucket per team', () => {
    const limiter = createRateLimiter({ clock: stillClock(), perSecond: 2 })
    const ask = (team: string) => limiter.take(team).allowed
    expect([ask('a'), ask('a'), ask('a'), ask('b'), ask('b'), ask('b')]).toEqual([
      true,
      true,
      false,
      true,
      true,
      false,
    ])
  })

  test('the rate limiter refills with time, up to the tokens of one second', () => {
    const clock = stillClock()
    const limiter = createRateLimiter({ clock, perSecond: 2 })
    const ask = () => limiter.take('a')
    expect([ask(), ask(), ask()].map(({ allowed }) => allowed)).toEqual([true, true, false])
    clock.move(499)
    expect(ask().allowed).toBe(false)
    clock.move(1)
    expect(ask()).toEqual({ allowed: true, remaining: 0, resetSeconds: 1, retrySeconds: 0 })
    expect(ask()).toEqual({ allowed: false, remaining: 0, resetSeconds: 1, retrySeconds: 1 })
    clock.move(86_400_000)
    expect([ask(), ask(), ask()].map(({ allowed }) => allowed)).toEqual([true, true, false])
  })

  test('the rate limiter evicts idle teams without giving any of them more tokens', () => {
    const clock = stillClock()
    const limiter = createRateLimiter({ clock, perSecond: 1 })
    const asked = Array.from({ length: 20_000 }, (_, n) => limiter.take(`team ${n}`).allowed)
    expect(asked).not.toContain(false)
    expect(limiter.take('team 0').allowed).toBe(false)
    clock.move(1000)
    expect(limiter.take('team 0').allowed).toBe(true)
  })
})
