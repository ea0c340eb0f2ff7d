import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../../appliance/mail/ids.ts'
import { buildReportAddress } from '../../../appliance/mail/report-address.ts'
import { change, leaseArgs, putEmail } from '../../contract/fixtures.ts'
import { newDomainReport } from '../../contract/domain-reports.contract.ts'
import { startApi, type Api } from './harness.ts'

let api: Api
const LIMITS = { submitter: 50, reports: 50, rows: 1000 }
const DAY = 86_400_000
const [DMARC, TLS] = [newId(1), newId(2)]

beforeAll(async () => {
  api = await startApi()
  const now = api.clock.now()
  const of = { teamId: api.teamId, domainId: api.domain.id }
  const about = { receivedAt: now, begin: now - DAY, end: now, policyDomain: 'acme.example', reportId: 'r1' }
  const policy = {
    domain: 'acme.example',
    p: 'none',
    sp: 'reject',
    np: '',
    adkim: '',
    aspf: '',
    pct: '',
    fo: '',
  }
  const dmarc = newDomainReport(of, {
    ...about,
    id: DMARC,
    policy: { ...policy, testing: '', discoveryMethod: '' },
  })
  const failure = {
    policyType: 'sts',
    failure: 'certificate-expired',
    receivingMx: 'mx.acme.example',
  } as const
  const tls = newDomainReport(of, {
    ...about,
    id: TLS,
    kind: 'tls',
    dmarc: [],
    total: 9,
    failed: 2,
    tls: [
      { policyType: 'sts', failure: '', receivingMx: '', reason: '', sessions: 7 },
      { ...failure, reason: '', sessions: 2 },
    ],
  })
  for (const report of [dmarc, tls]) await api.storage.keepDomainReport({ report, limits: LIMITS }, now)
})
afterAll(() => api.close())

const get = (path: string) => api.call('GET', `/domains/${api.domain.id}/reports${path}`)

test('lists reports, filters them by kind, and shows each in full', async () => {
  const { status, json } = await get('')
  expect(status).toBe(200)
  expect(json).toMatchObject({
    object: 'list',
    data: [
      { id: TLS, kind: 'tls' },
      { id: DMARC, policy: 'none' },
    ],
  })
  expect((await get('?kind=dmarc')).json).toMatchObject({
    data: [{ id: DMARC, submitter: 'google.example' }],
  })
  expect((await get('?kind=other')).status).toBe(422)
  expect((await get(`/${DMARC}`)).json).toMatchObject({
    object: 'domain_report',
    total: 3,
    tls_records: [],
    policy_tags: 'p=none; sp=reject',
    failures: [],
    sources: [{ ip: '192.0.2.1', kind: 'forwarder', messages: 3, status: 'ok', next_step: null }],
    dmarc_records: [{ source_ip: '192.0.2.1', messages: 3, dkim_aligned: true }],
  })
  expect((await get(`/${TLS}`)).json).toMatchObject({
    kind: 'tls',
    policy_tags: null,
    sources: [],
    dmarc_records: [],
    failures: [{ type: 'certificate-expired', sessions: 2, meaning: 'The certificate has expired.' }],
  })
  expect((await get(`/${newId(3)}`)).status).toBe(404)
})

test('summarizes DMARC by source and reporter, with the DNS record', async () => {
  const { json } = await get('/dmarc')
  const address = buildReportAddress({ ...api.domain, returnPath: 'send' })
  expect(json).toMatchObject({
    object: 'dmarc_summary',
    domain: 'acme.example',
    policy: 'none',
    messages: 3,
    passed: 3,
    record: { type: 'TXT', name: '_dmarc.acme.example', address, published: false },
    sources: [{ ip: '192.0.2.1', kind: 'forwarder', messages: 3, status: 'ok' }],
    reporters: [{ submitter: 'google.example', reports: 1, total: 3, failed: 0 }],
    days: [{ total: 3, failed: 0 }],
  })
  expect((await get('/dmarc?days=91')).status).toBe(422)
})

test('summarizes TLS by failure', async () => {
  const { json } = await get('/tls?days=7')
  expect(json).toMatchObject({
    object: 'tls_summary',
    sessions: 9,
    failed: 2,
    policies: [{ type: 'sts', sessions: 9, failed: 2 }],
    failures: [{ type: 'certificate-expired', sessions: 2, mx_hosts: ['mx.acme.example'] }],
    record: { name: '_smtp._tls.acme.example' },
  })
})

test('reports of an unknown domain get a 404', async () => {
  const other = newId(4)
  for (const path of ['', '/dmarc', '/tls', `/${DMARC}`])
    expect((await api.call('GET', `/domains/${other}/reports${path}`)).status).toBe(404)
})

describe('the reputation of a domain', () => {
  const path = () => `/domains/${api.domain.id}/reputation`

  /** Delivers to four people, who report it as spam, bounces once and defers once. */
  async function send(): Promise<void> {
    const { storage, teamId, clock, domain } = api
    const now = clock.now()
    const to = Array.from({ length: 6 }, (_, n) => `reader${n}@gmail.com`)
    const { id: emailId } = await putEmail(storage, teamId, to, now, { domainId: domain.id })
    const leased = await storage.lease(leaseArgs({ leaseUntil: now + 3_600_000 }), now)
    const changes = leased.map(({ id }, n) => {
      const outcome =
        n === 0
          ? change(id, 'bounced', 'email.bounced')
          : n === 1
            ? change(id, 'waiting', 'email.delivery_delayed', now + DAY)
            : change(id, 'delivered', 'email.delivered')
      return { ...outcome, event: { ...outcome.event!, id: newId(now) } }
    })
    await storage.settle({ owner: 'one', attempt: null, changes }, now)
    for (const { id: deliveryId } of leased.slice(2))
      await storage.complain({ teamId, emailId, deliveryId, reason: 'Pressed.', suppress: false }, now)
  }

  test('the reputation of a domain contains results, complaints, reports and changes', async () => {
    const day = Math.floor(api.clock.now() / DAY) * DAY
    await api.clock.set(day + 1.5 * DAY)
    await send()
    const { id } = api.domain
    expect((await api.call('PATCH', `/domains/${id}`, { open_tracking: true })).status).toBe(200)
    const since = day + DAY
    const check = {
      key: 'SPF',
      status: 'verified' as const,
      found: [],
      note: null,
      checkedAt: since,
      since,
    }
    const saved = { teamId: api.teamId, id, status: 'verified' as const, checks: [check] }
    await api.storage.saveDomainCheck(saved, api.clock.now())

    const { status, json } = await api.call('GET', `${path()}?days=3`)
    expect(status).toBe(200)
    const dates = [-1, 0, 1].map((n) => new Date(day + n * DAY).toISOString().slice(0, 10))
    const none = { delivered: 0, bounced: 0, deferred: 0, complained: 0 }
    const sent = { delivered: 4, bounced: 1, deferred: 1, complained: 4 }
    const limit = { limit: 0.003, state: 'over' }
    expect(json).toMatchObject({
      object: 'domain_reputation',
      domain_id: id,
      totals: sent,
      days: dates.map((date, n) => ({ date, ...(n === 2 ? sent : none) })),
      providers: [{ provider: '?gmail.com', name: 'gmail.com', ...sent }],
      complaints: {
        delivered: 4,
        complained: 4,
        rate: 1,
        limits: [
          { provider: 'google', name: 'Gmail', ...limit },
          { provider: 'yahoo', name: 'Yahoo', ...limit },
        ],
      },
      reports: { dmarc: { total: 3, failed: 0 }, tls: { total: 9, failed: 2 } },
    })
    const { changes } = json as { changes: { kind: string; note: string }[] }
    expect(changes.map(({ kind, note }) => [kind, note])).toEqual([
      ['setting', 'Turned on open tracking for acme.example'],
      ['dns', 'The SPF record was found in DNS'],
    ])
  })

  test('the reputation covers 30 days by default and at most 90, and only the team’s own domains', async () => {
    const usual = await api.call('GET', path())
    expect((usual.json as { days: object[] }).days).toHaveLength(30)
    expect((await api.call('GET', `${path()}?days=91`)).status).toBe(422)
    expect((await api.call('GET', `/domains/${newId(4)}/reputation`)).status).toBe(404)
  })
})
