import { describe, expect, test } from 'vitest'
import { decideNextStep, computeRateLimitDelay, type HostedResponse } from '../../../appliance/moving/pace.ts'

const NOW = Date.parse('2026-11-20T08:00:00Z')
const answered = (status: number, headers: Record<string, string> = {}, text = '{}'): HostedResponse => ({
  kind: 'answered',
  status,
  headers: new Headers(headers),
  text,
})

describe('a response of the hosted API', () => {
  test('accepts a response with status 200', () => {
    expect(decideNextStep(answered(200, {}, '[]'), 1, NOW)).toEqual({ kind: 'take', text: '[]' })
  })

  test.each([
    ['seconds', { 'retry-after': '7' }, 7000],
    ['a date', { 'retry-after': 'Fri, 20 Nov 2026 08:00:09 GMT' }, 9000],
    ['a past date', { 'retry-after': 'Fri, 20 Nov 2026 07:00:00 GMT' }, 0],
    ['the end of the window', { 'ratelimit-reset': '2' }, 2000],
    ['no header', {}, 1000],
    ['an invalid header', { 'retry-after': 'soon' }, 1000],
  ])('a response with status 429 and %s causes a wait', (_, headers, afterMs) => {
    expect(decideNextStep(answered(429, headers as Record<string, string>), 1, NOW)).toEqual({
      kind: 'again',
      afterMs,
      why: `requested a wait of ${afterMs / 1000} seconds`,
    })
  })

  test('a response that asks for a long wait, or for the 20th wait, stops the import', () => {
    expect(decideNextStep(answered(429, { 'retry-after': '3600' }), 1, NOW)).toMatchObject({
      kind: 'stop',
      status: 429,
    })
    expect(decideNextStep(answered(429, { 'retry-after': '1' }), 20, NOW)).toMatchObject({
      kind: 'stop',
      status: 429,
    })
  })

  test('a response with status 5xx is retried with growing delays, at most five times', () => {
    const waits = [1, 2, 3, 4].map((attempt) => decideNextStep(answered(503), attempt, NOW))
    expect(waits.map((one) => one.kind === 'again' && one.afterMs)).toEqual([1000, 2000, 4000, 8000])
    expect(decideNextStep(answered(503), 5, NOW)).toEqual({
      kind: 'stop',
      status: 503,
      why: 'returned status 503 (after 5 attempts)',
    })
  })

  test('a response that never arrived is retried like a 5xx', () => {
    const broken: HostedResponse = { kind: 'broken', why: 'cannot be reached (ECONNREFUSED)' }
    expect(decideNextStep(broken, 1, NOW)).toEqual({ ...broken, kind: 'again', afterMs: 1000 })
    expect(decideNextStep(broken, 5, NOW)).toMatchObject({ kind: 'stop', status: null })
  })

  test('a response that rejects the request or redirects stops the import at once, with its message', () => {
    const body = JSON.stringify({ statusCode: 401, name: 'restricted_api_key', message: 'Only sends.' })
    expect(decideNextStep(answered(401, {}, body), 1, NOW)).toEqual({
      kind: 'stop',
      status: 401,
      why: 'returned status 401: Only sends',
    })
    expect(decideNextStep(answered(302, {}, '<html>'), 1, NOW)).toEqual({
      kind: 'stop',
      status: 302,
      why: 'returned status 302',
    })
  })
})

test('after the last request of a rate limit window, the next one waits for the end of the window', () => {
  const rest = (headers: Record<string, string>) => computeRateLimitDelay(new Headers(headers))
  expect(rest({ 'ratelimit-remaining': '3', 'ratelimit-reset': '1' })).toBe(0)
  expect(rest({ 'ratelimit-remaining': '0', 'ratelimit-reset': '2' })).toBe(2000)
  expect(rest({ 'ratelimit-remaining': '0' })).toBe(1000)
  expect(rest({})).toBe(0)
})
