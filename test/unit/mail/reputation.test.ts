import { describe, expect, test } from 'vitest'
import {
  computeComplaintLimits,
  computeComplaintRate,
  formatDay,
  listDays,
  findRecordChanges,
  sumCounts,
  findVolumeChanges,
  type ReputationDay,
} from '../../../appliance/mail/reputation.ts'
import type { ProviderRules } from '../../../appliance/mail/provider-rules.ts'

const DAY = 86_400_000
const NOON = Date.parse('2026-03-01T12:00:00Z')

test('daysUntil returns the days up to today, across months', () => {
  expect(listDays(NOON, 3).map(formatDay)).toEqual(['2026-02-27', '2026-02-28', '2026-03-01'])
  expect(listDays(Date.parse('2026-03-01'), 1).map(formatDay)).toEqual(['2026-03-01'])
})

test('sumCounts adds counts field by field', () => {
  const one = { delivered: 1, bounced: 2, deferred: 3, complained: 4 }
  expect(sumCounts([])).toEqual({ delivered: 0, bounced: 0, deferred: 0, complained: 0 })
  expect(sumCounts([one, one])).toEqual({ delivered: 2, bounced: 4, deferred: 6, complained: 8 })
})

describe('complaints', () => {
  const provider = (id: string) => ({ id, name: id.toUpperCase(), bulk: 5000, domains: [] })
  const rule = (of: string, limit: number | null) => ({
    id: `${of}-complaints`,
    provider: of,
    check: 'complaints' as const,
    bulk: false,
    limit,
    reply: null,
    source: 'https://rules.example',
    date: '2024-02-01',
  })
  const table: ProviderRules = {
    providers: [provider('strict'), provider('usual'), provider('none')],
    rules: [rule('strict', 0.001), rule('usual', 0.003), rule('none', null)],
  }
  const states = (complained: number, delivered = 10_000) =>
    computeComplaintLimits({ delivered, complained }, table).map(({ state }) => state)

  test('compares complaints with the limit of each provider', () => {
    expect(computeComplaintLimits({ delivered: 10_000, complained: 10 }, table)).toEqual([
      { provider: 'strict', name: 'STRICT', limit: 0.001, state: 'over' },
      { provider: 'usual', name: 'USUAL', limit: 0.003, state: 'near' },
    ])
    expect(states(4)).toEqual(['near', 'ok'])
    expect(states(29)).toEqual(['over', 'near'])
    expect(states(30)).toEqual(['over', 'over'])
  })

  test('ignores fewer than four complaints, whatever their rate', () => {
    expect(states(3, 10)).toEqual(['ok', 'ok'])
    expect(states(4, 10)).toEqual(['over', 'over'])
  })

  test('the complaint rate is 0 while nothing was delivered', () => {
    expect(computeComplaintRate({ delivered: 0, complained: 5 })).toBe(0)
    expect(computeComplaintRate({ delivered: 200, complained: 1 })).toBe(0.005)
  })
})

describe('a volume change', () => {
  const days = (...volumes: number[]): ReputationDay[] =>
    volumes.map((volume, n) => ({
      date: formatDay(Date.parse('2026-03-01') + n * DAY),
      delivered: volume - 1,
      bounced: 1,
      deferred: 0,
      complained: 0,
    }))
  const week = [900, 1000, 1100, 1000, 5000, 1000, 10]

  test('reports a volume change at three times the median of the previous week', () => {
    expect(findVolumeChanges(days(...week, 2999))).toEqual([])
    expect(findVolumeChanges(days(...week, 3000))).toEqual([
      { at: Date.parse('2026-03-08'), kind: 'volume', note: '3,000 emails, 3.0 times the usual' },
    ])
  })

  test('reports no volume change without a full previous week or below 1,000 emails', () => {
    expect(findVolumeChanges(days(...week.slice(1), 90_000))).toEqual([])
    expect(findVolumeChanges(days(1, 1, 1, 1, 1, 1, 1, 999))).toEqual([])
  })

  test('reports a volume change after days without mail', () => {
    const quiet = days(1, 1, 1, 1, 1, 1, 1).map((day) => ({ ...day, bounced: 0 }))
    expect(findVolumeChanges([...quiet, { ...quiet[0]!, date: '2026-03-08', delivered: 1000 }])).toEqual([
      { at: Date.parse('2026-03-08'), kind: 'volume', note: '1,000 emails, after days with none' },
    ])
  })
})

test('lists record changes within the period with the time of the status', () => {
  const checks = [
    { key: 'SPF', status: 'verified', since: NOON },
    { key: 'DKIM ph1', status: 'failed', since: NOON + 1 },
    { key: 'DMARC', status: 'pending', since: NOON + 2 },
    { key: 'BIMI', status: 'verified', since: NOON - 1 },
    { key: 'MTA-STS', status: 'temporary_failure', since: NOON },
  ]
  expect(findRecordChanges(checks, NOON)).toEqual([
    { at: NOON, kind: 'dns', note: 'The SPF record was found in DNS' },
    { at: NOON + 1, kind: 'dns', note: 'The DKIM ph1 record was found to be wrong' },
    { at: NOON + 2, kind: 'dns', note: 'The DMARC record was found to be missing' },
  ])
})
