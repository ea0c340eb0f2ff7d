import { describe, expect, test } from 'vitest'
import type { MetricsBreakdown } from '../../../appliance/api/metrics.ts'
import { parseSearch } from '../../../ui/src/state/email-search.ts'
import {
  formatBreakdownCsv,
  formatComparison,
  getEmailsUrl,
  formatFigure,
  computeTotals,
  MEASURES,
  formatMetricsCsv,
  getRowLabel,
} from '../../../ui/src/state/metrics.ts'
import { computeBounds, formatDay, computeSpan } from '../../../ui/src/state/metrics-range.ts'

const HOUR = 3_600_000
const NOW = Date.UTC(2026, 10, 20, 12, 34, 56)
const none = { range: null, from: null, to: null }
const days = (from: string, to: string) => ({ range: 'custom', from, to })
const midnight = (day: string) => Date.parse(`${day}T00:00:00Z`)

describe('the time range of metrics', () => {
  test('the time range defaults to seven whole days including today', () => {
    expect(computeSpan(none, NOW, true)).toEqual({
      start: midnight('2026-11-14'),
      end: midnight('2026-11-21'),
      before: midnight('2026-11-07'),
      granularity: 'daily',
      words: '7 days',
    })
  })

  test('the time range can be 24 hours including the current one', () => {
    expect(computeSpan({ ...none, range: '24h' }, NOW, true)).toMatchObject({
      start: Date.UTC(2026, 10, 19, 13),
      end: Date.UTC(2026, 10, 20, 13),
      granularity: 'hourly',
    })
  })

  test('the time range can be chosen, and short ranges are hourly', () => {
    expect(computeSpan(days('2026-11-01', '2026-11-01'), NOW, true)).toMatchObject({
      start: midnight('2026-11-01'),
      end: midnight('2026-11-02'),
      before: midnight('2026-10-31'),
      granularity: 'hourly',
      words: 'day',
    })
    expect(computeSpan(days('2026-01-01', '2026-03-01'), NOW, true)).toMatchObject({
      granularity: 'daily',
      words: '60 days',
    })
  })

  test.each([
    [days('2026-11-02', '2026-11-01'), 'The last day is before the first day.'],
    [days('2026-02-31', '2026-11-01'), 'Choose the first and last day.'],
    [days('2024-01-01', '2026-11-01'), 'The range is longer than 400 days. Choose a shorter one.'],
    [days('2027-01-01', '2027-01-01'), 'The first day is in the future.'],
  ])('rejects a time range with an explanation: %j', (asked, says) => {
    expect(computeSpan(asked, NOW, true)).toBe(says)
  })

  test('compares the time range with an equally long part of the previous one', () => {
    const span = computeSpan(none, NOW, true)
    if (typeof span === 'string') throw new Error(span)
    expect(computeBounds(span, NOW)).toEqual({
      now: { start: '2026-11-14T00:00:00.000Z', end: '2026-11-20T12:34:56.000Z' },
      before: { start: '2026-11-07T00:00:00.000Z', end: '2026-11-13T12:34:56.000Z' },
    })
    expect(formatDay(span.end - 1, true)).toBe('2026-11-20')
  })
})

test.each([
  [120, 100, false, '↑ 20% vs. 100'],
  [80, 100, false, '↓ 20% vs. 100'],
  [1001, 1000, false, '↑ under 1% vs. 1,000'],
  [300, 100, false, '↑ 3× vs. 100'],
  [100, 100, false, 'same as previous period (100)'],
  [5, 0, false, 'none in the previous period'],
  [0.05, 0.04, true, '↑ 1 point vs. 4%'],
  [null, 0.04, true, 'none'],
  [0.01, null, true, 'no previous data'],
])('describes a change to %s from %s', (now, before, share, says) => {
  expect(formatComparison(now, before, share)).toBe(says)
})

test('the totals show the sent emails, and rates that are flagged if over a limit', () => {
  const of = (counts: Record<string, number>) =>
    computeTotals(counts).map(({ event, count, rate, over }) => [
      event,
      count,
      formatFigure(rate, true),
      over,
    ])
  expect(of({ sent: 1000, delivered: 970, bounced: 30, complained: 0 })).toEqual([
    ['sent', 1000, '–', 'no'],
    ['delivered', 970, '97%', 'no'],
    ['bounced', 30, '3%', 'no'],
    ['complained', 0, '0%', 'no'],
  ])
  expect(of({ sent: 1000, delivered: 950, bounced: 40, complained: 1 }).slice(2)).toEqual([
    ['bounced', 40, '4%', 'bad'],
    ['complained', 1, '0.11%', 'warning'],
  ])
  expect(of({ sent: 0, delivered: 1000, complained: 3 })[3]).toEqual(['complained', 3, '0.3%', 'bad'])
  // If there is no breakdown of sent mail, finished mail is used instead.
  expect(of({ delivered: 8, bounced: 1, failed: 1 })[0]).toEqual(['sent', 10, '–', 'no'])
})

test('small rates keep enough digits to compare with limits', () => {
  expect(formatFigure(0.0012, true)).toBe('0.12%')
  expect(formatFigure(0.0412, true)).toBe('4.1%')
  expect(formatFigure(null, true)).toBe('–')
})

test('rates are relative to sent emails, or to final ones if the number sent is unknown', () => {
  const rate = MEASURES.find(({ id }) => id === 'bounce_rate')!
  expect(rate.of({ sent: 100, delivered: 90, bounced: 5 })).toBe(0.05)
  expect(rate.of({ delivered: 90, bounced: 10, failed: 0 })).toBe(0.1)
  expect(rate.of({ sent: 0 })).toBeNull()
})

test('a chart point links to a search that the emails page accepts', () => {
  const span = { start: NOW - (NOW % HOUR), end: NOW - (NOW % HOUR) + HOUR }
  const path = getEmailsUrl('bounced', span, {
    domain: 'acme.example',
    provider: null,
    bounce: 'mailbox-full',
  })
  const search = new URL(path, 'http://x').searchParams.get('q') ?? ''
  expect(search).toBe(
    'event:bounced happened:2026-11-20T12:00Z..2026-11-20T13:00Z domain:acme.example bounce:mailbox-full',
  )
  expect(parseSearch(search, NOW, false)).toEqual({
    conditions: {
      event: 'bounced',
      event_since: '2026-11-20T12:00:00.000Z',
      event_until: '2026-11-20T13:00:00.000Z',
      domain: 'acme.example',
      bounce: 'mailbox-full',
    },
    problem: null,
  })
})

test.each(['kind:receipt', 'kind:'])('the row of the tag %s links to a search for it', (tag) => {
  const path = getEmailsUrl('bounced', { start: NOW, end: NOW + HOUR }, { tag })
  const search = new URL(path, 'http://x').searchParams.get('q') ?? ''
  expect(parseSearch(search, NOW, false)).toMatchObject({
    conditions: { event: 'bounced', tag },
    problem: null,
  })
})

test.each([
  ['happened:24h..', { event_since: '2026-11-19T12:34:56.000Z' }, null],
  ['event:delayed', { event: 'delivery_delayed' }, null],
  ['happened:yesterday', {}, '“happened:yesterday” is not a time range.'],
  ['happened:..', {}, '“happened:..” is not a time range.'],
  ['happened:24h.. happened:7d..', { event_since: '2026-11-19T12:34:56.000Z' }, 'repeats a search condition'],
])('parses the search %s', (text, conditions, problem) => {
  const read = parseSearch(text, NOW, true)
  expect(read.conditions).toEqual(conditions)
  if (problem === null) expect(read.problem).toBeNull()
  else expect(read.problem).toContain(problem)
})

const table = (rows: [string, number][]): MetricsBreakdown => ({
  object: 'metrics_breakdown',
  by: 'period',
  granularity: 'daily',
  metrics: ['sent'],
  totals: {},
  start_date: '',
  end_date: '',
  data: rows.map(([value, sent]) => ({ value, name: null, counts: { sent } })),
})

test('the CSV export has a line per period with the values of the previous period', () => {
  const now = table([
    ['2026-11-19T00:00:00.000Z', 3],
    ['2026-11-20T00:00:00.000Z', 4],
  ])
  expect(formatMetricsCsv(now, table([['2026-11-18T00:00:00.000Z', 2]]))).toBe(
    'period,sent,period_before,sent_before\r\n' +
      '2026-11-19T00:00:00.000Z,3,2026-11-18T00:00:00.000Z,2\r\n' +
      '2026-11-20T00:00:00.000Z,4,,\r\n',
  )
})

test('breakdown rows without a name get a label', () => {
  const name = (by: MetricsBreakdown['by'], value: string | null, known: string | null = null) =>
    getRowLabel(by, { value, name: known, counts: {} })
  expect(name('provider', 'google', 'Gmail')).toBe('Gmail')
  expect(name('provider', '?x.example')).toBe('x.example (never looked up)')
  expect(name('provider', null)).toBe('All others')
  expect(name('domain', 'gone')).toBe('Deleted domain')
  expect(name('bounce_category', 'mailbox-full')).toBe('Mailbox full')
  expect(name('tag', 'kind:receipt')).toBe('kind: receipt')
  expect(name('tag', 'kind:')).toBe('kind: (empty)')
  expect(name('tag', null)).toBe('All others')
})

test('the CSV export of a breakdown has a line per row with its label', () => {
  const by = (name: MetricsBreakdown['by'], data: MetricsBreakdown['data']) =>
    formatBreakdownCsv({ ...table([]), by: name, data })
  const row = (value: string | null, sent: number, name: string | null = null) => ({
    value,
    name,
    counts: { sent },
  })
  expect(by('tag', [row('kind:receipt', 3), row(null, 4)])).toBe(
    'tag,name,sent\r\nkind:receipt,kind: receipt,3\r\n,All others,4\r\n',
  )
  expect(by('provider', [row('x', 1, 'Mail, "fast"')])).toBe('provider,name,sent\r\nx,"Mail, ""fast""",1\r\n')
})
