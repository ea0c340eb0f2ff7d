import { describe, expect, test } from 'vitest'
import { summarizeRequests, formatSuccessShare } from '../../../ui/src/state/webhook-requests.ts'
import { findEndpointError, groupEvents, getRefusedField } from '../../../ui/src/state/webhook-form.ts'

const day = (count: number, taken: number, median_ms: number | null = 12, p95_ms: number | null = 1240) => ({
  count,
  taken,
  median_ms,
  p95_ms,
})

describe('webhook requests of a day', () => {
  test('shows 100% only if all webhook requests succeeded', () => {
    expect(formatSuccessShare(day(1000, 1000))).toBe('100%')
    expect(formatSuccessShare({ count: 100_000, taken: 99_999 })).toBe('99.9%')
    expect(formatSuccessShare(day(3, 1))).toBe('33.3%')
    expect(formatSuccessShare(day(3, 0))).toBe('0%')
    expect(formatSuccessShare(day(0, 0))).toBe('no requests')
  })

  test('summarizes webhook requests with count, success rate and response times', () => {
    expect(summarizeRequests(day(1200, 1180))).toBe(
      '1,200 requests in the last 24 h · 98.3% succeeded · p50 12 ms · p95 1.24 s',
    )
    expect(summarizeRequests(day(1, 1))).toMatch(/^1 request in the last 24 h · 100% succeeded · /)
    expect(summarizeRequests(day(0, 0, null, null))).toBe('No requests in the last 24 h')
    expect(summarizeRequests(day(4, 0, null, null))).toBe(
      '4 requests in the last 24 h · 0% succeeded · no responses',
    )
  })
})

test('groups event types by object', () => {
  expect(groupEvents(['email.sent', 'domain.created', 'email.opened'])).toEqual([
    { noun: 'email', words: 'Email events', types: ['email.sent', 'email.opened'] },
    { noun: 'domain', words: 'Domain events', types: ['domain.created'] },
  ])
})

test('reports an invalid endpoint URL before sending, and assigns an error to its field', () => {
  expect(findEndpointError('  ')).toBe('Enter the endpoint URL.')
  for (const text of ['app.example.com', 'https:', 'https:///x', 'ftp://a.example/', 'http://[x]/'])
    expect(findEndpointError(text)).toMatch(/^Enter a full URL/)
  for (const text of ['https://app.example.com/hook', ' http://10.0.0.1:80/ '])
    expect(findEndpointError(text)).toBe('')
  expect(getRefusedField('Invalid `endpoint` field: an https:// URL.')).toBe('endpoint')
  expect(getRefusedField('Missing `events` field.')).toBe('events')
  expect(getRefusedField('Invalid `status` field: no.')).toBe(null)
  expect(getRefusedField('The server did not answer.')).toBe(null)
})
