import { describe, expect, test } from 'vitest'
import {
  parseSearchInstant,
  parseSearch,
  getToken,
  tokenize,
  setToken,
} from '../../../ui/src/state/email-search.ts'

const NOW = Date.UTC(2026, 10, 20, 12)
const read = (text: string) => parseSearch(text, NOW, true)

describe('an email search', () => {
  test.each([
    ['', {}],
    ['to:ada@reader.example', { to: 'ada@reader.example' }],
    ['to:@reader.example', { to_domain: 'reader.example' }],
    ['at:reader.example', { to_domain: 'reader.example' }],
    ['from:shop domain:acme.example', { from: 'shop', domain: 'acme.example' }],
    ['status:delayed,bounced', { status: 'delivery_delayed,bounced' }],
    ['tag:kind:receipt key:Shop', { tag: 'kind:receipt', key: 'Shop' }],
    ['key:"Web shop"', { key: 'Web shop' }],
    ['reply:4ZX9q', { reply: '4ZX9q' }],
    ['after:24h', { since: '2026-11-19T12:00:00.000Z' }],
    [
      'after:2026-11-01 before:2026-11-02',
      { since: '2026-11-01T00:00:00.000Z', until: '2026-11-02T00:00:00.000Z' },
    ],
    ['before:2026-11-02T08:30:00+01:00', { until: '2026-11-02T07:30:00.000Z' }],
    ['order 17', { subject: 'order 17' }],
    ['"to: nobody"', { subject: 'to: nobody' }],
    ['TO:a@b.example invoice', { to: 'a@b.example', subject: 'invoice' }],
    ['ada@reader.example', { to: 'ada@reader.example' }],
    ['@reader.example', { to_domain: 'reader.example' }],
    ['<x.7@acme.example>', { message_id: '<x.7@acme.example>' }],
    ['0199C0DE-7a10-7c3e-9b6f-000000000001', { id: '0199c0de-7a10-7c3e-9b6f-000000000001' }],
  ])('parses the search %s', (text, conditions) => {
    expect(read(text)).toEqual({ conditions, problem: null })
  })

  test.each([
    ['form:shop', 'Unknown search key “form:”.'],
    ['status:', '“status:” needs a value'],
    ['after:yesterday', '“after:yesterday” is not a time.'],
    ['id:7', '“id:7” is not an email ID.'],
    ['to:a@b.example to:c@d.example', '“to:c@d.example” repeats a search condition.'],
    ['constructor:x', 'Unknown search key “constructor:”.'],
  ])('rejects the search %s', (text, says) => {
    expect(read(text).problem).toContain(says)
  })
})

test('replaces a search condition in place, appends it or removes it', () => {
  expect(setToken('status:sent order', 'status', 'bounced')).toBe('status:bounced order')
  expect(setToken('order', 'key', 'Web shop')).toBe('order key:"Web shop"')
  expect(setToken('order status:sent', 'status', null)).toBe('order')
  expect(getToken('a key:"Web shop"', 'key')).toBe('Web shop')
  expect(getToken('a', 'key')).toBeNull()
})

test('an unclosed quotation mark includes the rest of the search', () => {
  expect(tokenize('key:"Web shop')).toEqual([{ key: 'key', value: 'Web shop' }])
})

test('durations count back from now, and dates start at midnight', () => {
  expect(parseSearchInstant('90m', NOW, true)).toBe(NOW - 90 * 60_000)
  expect(parseSearchInstant('2w', NOW, true)).toBe(NOW - 14 * 86_400_000)
  expect(parseSearchInstant('2026-11-20', NOW, true)).toBe(Date.UTC(2026, 10, 20))
  expect(parseSearchInstant('2026-13-01', NOW, true)).toBeUndefined()
  expect(parseSearchInstant('20', NOW, true)).toBeUndefined()
})
