import { describe, expect, test } from 'vitest'
import { ofRequests, successShare } from '../../../ui/src/state/webhook-requests.ts'
import { endpointError, eventGroups, refusedField } from '../../../ui/src/state/webhook-form.ts'

const day = (count: number, taken: number, median_ms: number | null = 12, p95_ms: number | null = 1240) => ({
  ...{ count, taken, median_ms, p95_ms },
})

describe('webhook requests of a day', () => {
  test('show 100% only if all succeeded', () => {
    expect(successShare(day(1000, 1000))).toBe('100%')
    expect(successShare({ count: 100_000, taken: 99_999 })).toBe('99.9%')
    expect(successShare(day(3, 1))).toBe('33.3%')
    expect(successShare(day(3, 0))).toBe('0%')
    expect(successShare(day(0, 0))).toBe('no requests')
  })

  test('are summarized with count, success rate and response times', () => {
    expect(ofRequests(day(1200, 1180))).toBe(
      '1,200 requests in the last 24 h · 98.3% succeeded · p50 12 ms · p95 1.24 s',
    )
    expect(ofRequests(day(1, 1))).toMatch(/^1 request in the last 24 h · 100% succeeded · /)
    expect(ofRequests(day(0, 0, null, null))).toBe('No requests in the last 24 h')
    expect(ofRequests(day(4, 0, null, null))).toBe(
      '4 requests in the last 24 h · 0% succeeded · no responses',
    )
  })
})

test('event types are grouped by object', () => {
  expect(eventGroups(['email.sent', 'domain.created', 'email.opened'])).toEqual([
    { noun: 'email', words: 'Email events', types: ['email.sent', 'email.opened'] },
    { noun: 'domain', words: 'Domain events', types: ['domain.created'] },
  ])
})

test('an invalid endpoint URL is reported before sending, and an error is assigned to its field', () => {
  expect(endpointError('  ')).toBe('Enter the endpoint URL.')
  for (const text of ['app.example.com', 'https:', 'https:///x', 'ftp://a.example/', 'http://[x]/'])
    expect(endpointError(text)).toMatch(/^Enter a full URL/)
  for (const text of ['https://app.example.com/hook', ' http://10.0.0.1:80/ '])
    expect(endpointError(text)).toBe('')
  expect(refusedField('Invalid `endpoint` field: an https:// URL.')).toBe('endpoint')
  expect(refusedField('Missing `events` field.')).toBe('events')
  expect(refusedField('Invalid `status` field: no.')).toBe(null)
  expect(refusedField('The server did not answer.')).toBe(null)
})
