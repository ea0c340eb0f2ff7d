import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '../../../appliance/mail/ids.ts'
import { reportAddress } from '../../../appliance/mail/report-address.ts'
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
    ...{ ...about, id: DMARC, policy: { ...policy, testing: '', discoveryMethod: '' } },
  })
  const failure = {
    policyType: 'sts',
    failure: 'certificate-expired',
    receivingMx: 'mx.acme.example',
  } as const
  const tls = newDomainReport(of, {
    ...{ ...about, id: TLS, kind: 'tls', dmarc: [], total: 9, failed: 2 },
    tls: [
      { policyType: 'sts', failure: '', receivingMx: '', reason: '', sessions: 7 },
      { ...failure, reason: '', sessions: 2 },
    ],
  })
  for (const report of [dmarc, tls]) await api.storage.keepDomainReport({ report, limits: LIMITS }, now)
})
afterAll(() => api.close())

const get = (path: string) => api.call('GET', `/domains/${api.domain.id}/reports${path}`)

test('reports are listed, by kind too, and shown whole', async () => {
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
    ...{ object: 'domain_report', total: 3, tls_records: [] },
    ...{ policy_tags: 'p=none; sp=reject', failures: [] },
    sources: [{ ip: '192.0.2.1', kind: 'forwarder', messages: 3, status: 'ok', next_step: null }],
    dmarc_records: [{ source_ip: '192.0.2.1', messages: 3, dkim_aligned: true }],
  })
  expect((await get(`/${TLS}`)).json).toMatchObject({
    ...{ kind: 'tls', policy_tags: null, sources: [], dmarc_records: [] },
    failures: [{ type: 'certificate-expired', sessions: 2, meaning: 'The certificate has expired.' }],
  })
  expect((await get(`/${newId(3)}`)).status).toBe(404)
})

test('DMARC is summed up by source, with the record and the next step', async () => {
  const { json } = await get('/dmarc')
  const address = reportAddress({ ...api.domain, returnPath: 'send' })
  expect(json).toMatchObject({
    ...{ object: 'dmarc_summary', domain: 'acme.example', policy: 'none', messages: 3, passed: 3 },
    record: { type: 'TXT', name: '_dmarc.acme.example', address, published: false },
    sources: [{ ip: '192.0.2.1', kind: 'forwarder', messages: 3, status: 'ok' }],
    reporters: [{ submitter: 'google.example', reports: 1, total: 3, failed: 0 }],
    days: [{ total: 3, failed: 0 }],
  })
  expect((await get('/dmarc?days=91')).status).toBe(422)
})

test('TLS is summed up by failure', async () => {
  const { json } = await get('/tls?days=7')
  expect(json).toMatchObject({
    ...{ object: 'tls_summary', sessions: 9, failed: 2, policies: [{ type: 'sts', sessions: 9, failed: 2 }] },
    failures: [{ type: 'certificate-expired', sessions: 2, mx_hosts: ['mx.acme.example'] }],
    record: { name: '_smtp._tls.acme.example' },
  })
})

test('a domain of another team is not found', async () => {
  const other = newId(4)
  for (const path of ['', '/dmarc', '/tls', `/${DMARC}`])
    expect((await api.call('GET', `/domains/${other}/reports${path}`)).status).toBe(404)
})
