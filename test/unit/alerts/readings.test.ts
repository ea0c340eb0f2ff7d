import { expect, test } from 'vitest'
import {
  addResults,
  type SharedFacts,
  type Results,
  serverReadings,
  type TeamFacts,
  teamReadings,
} from '../../../appliance/alerts/readings.ts'
import { ALERT_LEVELS, type AlertReading, decideAlerts } from '../../../appliance/mail/alert.ts'
import type { Source } from '../../../appliance/mail/source.ts'
import type { Domain, RecordStatus } from '../../../appliance/storage/storage.ts'
import { newDomain, T0 } from '../../contract/fixtures.ts'

const around: SharedFacts = {
  complaints: { limit: 0.003, provider: 'Gmail' },
  paused: new Set(['yahoo']),
  nameOf: (id) => ({ google: 'Gmail', yahoo: 'Yahoo' })[id] ?? id,
  levels: ALERT_LEVELS,
}
const results = (more: Partial<Results>): Results => ({ ...addResults([]), ...more })
const check = (key: string, status: RecordStatus) => ({
  key,
  status,
  found: [],
  note: null,
  checkedAt: T0,
  since: T0,
})

const domain: Domain = {
  ...newDomain('t1', 'shop.example').domain,
  status: 'verified',
  checks: [check('DKIM a', 'verified'), check('SPF', 'verified'), check('DMARC', 'pending')],
}
const facts = (more: Partial<TeamFacts>): TeamFacts => ({
  domains: [domain],
  day: new Map(),
  week: new Map(),
  hour: new Map(),
  reports: [],
  bulk: [],
  old: 0,
  ...more,
})
const open = (readings: AlertReading[]) => decideAlerts([], readings, T0).open
const opened = (more: Partial<TeamFacts>) =>
  open(teamReadings(facts(more), around)).map(({ kind, note }) => [kind, note])

test('a healthy domain opens no alerts, even without DMARC', () => {
  const well = results({ delivered: 10_000, bounced: 100, failed: 100, complained: 5 })
  const each = new Map([[domain.id, well]])
  expect(opened({ day: each, week: each })).toEqual([])
})

test('bounces and complaints open alerts before the limit, but not with too few emails', () => {
  const day = (delivered: number, failed: number) => ({
    day: new Map([[domain.id, results({ delivered, bounced: failed, failed })]]),
  })
  expect(opened(day(968, 32))).toEqual([
    ['bounces', '3.2% of 1,000 emails in the last 24 hours bounced permanently. The limit is 4%.'],
  ])
  expect(opened(day(50, 49))).toEqual([])
  const week = (complained: number) => ({
    week: new Map([[domain.id, results({ delivered: 3000, complained })]]),
  })
  expect(opened(week(4))).toEqual([
    [
      'complaints',
      '0.13% of 3,000 emails delivered in the last 7 days were reported as spam. Gmail accepts less than 0.3%.',
    ],
  ])
  expect(opened({ week: new Map([[domain.id, results({ delivered: 100, complained: 3 })]]) })).toEqual([])
})

test('a provider that defers most attempts opens an alert, but half or a paused lane does not', () => {
  const hour = (provider: string, more: Partial<Results>) => ({ hour: new Map([[provider, results(more)]]) })
  expect(opened(hour('google', { delivered: 20, deferred: 80 }))).toEqual([
    ['deferrals', '80% of the 100 results at Gmail in the last hour were deferrals.'],
  ])
  expect(opened(hour('google', { delivered: 50, deferred: 50 }))).toEqual([])
  expect(opened(hour('yahoo', { deferred: 100 }))).toEqual([])
})

test.each([
  ['a missing DKIM record', { checks: [check('DKIM a', 'pending')] }, 'DKIM (missing)'],
  ['a wrong SPF record', { checks: [check('SPF', 'failed')] }, 'SPF (invalid)'],
  [
    'a first bad check',
    { suspect: { status: 'failed' as const, since: T0 } },
    'The next check will confirm or clear them',
  ],
])('a verified domain with %s opens an alert', (_, more, words) => {
  const [[kind, note] = []] = opened({ domains: [{ ...domain, ...more }] })
  expect(kind).toBe('dns')
  expect(note).toContain(words)
})

test('a failed domain opens an alert only if it has sent recently', () => {
  const failed = { ...domain, status: 'failed' as const, checks: [check('DKIM a', 'failed')] }
  expect(opened({ domains: [failed] })).toEqual([])
  const week = new Map([[domain.id, results({ delivered: 1 })]])
  expect(opened({ domains: [failed], week }).map(([kind]) => kind)).toEqual(['dns'])
  expect(opened({ domains: [{ ...failed, sending: false }], week })).toEqual([])
})

test('a failed lookup leaves an alert unchanged', () => {
  const unknown = { ...domain, checks: [check('DKIM a', 'temporary_failure')] }
  const [dns] = teamReadings(facts({ domains: [unknown] }), around).filter(({ kind }) => kind === 'dns')
  expect(dns!.value).toBeNull()
})

test('failures in DMARC and TLS reports open alerts, but not with too few messages', () => {
  const report = (kind: 'dmarc' | 'tls', total: number, failed: number) => ({
    reports: [{ domainId: domain.id, kind, total, failed }],
  })
  expect(opened(report('dmarc', 1000, 120))).toEqual([
    ['dmarc', '12% of 1,000 messages in DMARC reports of the last 7 days failed.'],
  ])
  expect(opened(report('dmarc', 99, 99))).toEqual([])
  expect(opened(report('tls', 50, 6)).map(([kind]) => kind)).toEqual(['tls'])
})

test('a domain close to bulk sender volume opens an alert for the rules it breaks', () => {
  const broken = {
    id: 'rule-dmarc',
    verdict: 'attention' as const,
    note: 'There is no DMARC record',
    why: 'w',
  }
  const standing = { domain, provider: 'google', messages: 4200, limit: 5000 }
  const insight = { ...broken, fix: 'Publish one', evidence: [] }
  const [[kind, note] = []] = opened({ bulk: [{ ...standing, broken: [insight] }] })
  expect(kind).toBe('bulk')
  expect(note).toContain('4,200 messages to Gmail in the last 24 hours. From 5,000 on')
  expect(note).toContain('There is no DMARC record')
  expect(opened({ bulk: [{ ...standing, broken: [] }] })).toEqual([])
  expect(opened({ bulk: [{ ...standing, messages: 3900, broken: [insight] }] })).toEqual([])
})

test('twenty old deliveries open an alert', () => {
  expect(opened({ old: 19 })).toEqual([])
  expect(opened({ old: 20 }).map(([kind]) => kind)).toEqual(['queue'])
})

test('a server alert is opened for listed IPs, and for all mail only if several teams send', () => {
  const finding = { id: 'blocklist:zen.example', title: 'Blocklist', advice: null }
  const source = (status: 'failed' | 'ok' | 'skipped', found: string): Source => ({
    ip: '192.0.2.1',
    pool: 'default',
    hostname: null,
    state: 'active',
    stateReason: null,
    suspendedBy: null,
    warmUpSince: null,
    origin: 'operator',
    checkedAt: T0,
    health: { findings: [{ ...finding, status, found }], ipv6: null },
  })
  const kinds = (readings: AlertReading[]) => open(readings).map(({ kind, subject }) => [kind, subject.name])
  const bad = facts({ day: new Map([[domain.id, results({ delivered: 60, bounced: 60, failed: 60 })]]) })
  const listed = [source('failed', 'It is listed.')]
  expect(kinds(serverReadings(listed, [bad], around))).toEqual([['blocklist', '192.0.2.1']])
  expect(kinds(serverReadings([source('ok', 'Not listed.')], [bad, bad], around))).toEqual([
    ['bounces', 'all mail'],
  ])
  const [unknown] = serverReadings([source('skipped', 'No answer.')], [], around)
  expect(unknown!.value).toBeNull()
})
