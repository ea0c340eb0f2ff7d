import { expect, test } from 'vitest'
import type { DmarcRow, TlsRow } from '../../appliance/mail/domain-report.ts'
import { newId } from '../../appliance/mail/ids.ts'
import type { DomainReport, Storage } from '../../appliance/storage/storage.ts'
import { DAY, makeTeam, newDomain, T0, unique } from './fixtures.ts'

const LIMITS = { submitter: 10, reports: 20, rows: 1000 }
const PERIOD = { since: T0 - DAY, until: T0 + DAY }

/** Stores a team with a verified domain. */
export async function makeReported(
  storage: Storage,
): Promise<{ teamId: string; domainId: string; name: string }> {
  const { team } = await makeTeam(storage)
  const { domain, keys } = newDomain(team.id, `${unique('reported')}.example`)
  await storage.createDomain({ domain: { ...domain, status: 'verified' }, keys }, T0)
  return { teamId: team.id, domainId: domain.id, name: domain.name }
}

const dmarcRow = (change: Partial<DmarcRow> = {}): DmarcRow => ({
  sourceIp: '192.0.2.1',
  headerFrom: 'reported.example',
  disposition: 'none',
  dkimAligned: true,
  spfAligned: false,
  dkimDomain: 'reported.example',
  dkimResult: 'pass',
  spfDomain: 'send.reported.example',
  spfResult: 'softfail',
  reason: '',
  messages: 3,
  ...change,
})

const tlsRow = (change: Partial<TlsRow> = {}): TlsRow => ({
  policyType: 'sts',
  failure: '',
  receivingMx: '',
  reason: '',
  sessions: 5,
  ...change,
})

type WholeReport = DomainReport & { dmarc: DmarcRow[]; tls: TlsRow[] }

/** Returns a report about a domain. Not stored. */
export function newDomainReport(
  of: { teamId: string; domainId: string },
  change: Partial<WholeReport> = {},
): WholeReport {
  return {
    id: newId(T0),
    teamId: of.teamId,
    domainId: of.domainId,
    kind: 'dmarc',
    receivedAt: T0,
    submitter: 'google.example',
    organization: 'Google',
    reportId: unique('r'),
    policy: null,
    policyDomain: 'reported.example',
    begin: T0,
    end: T0 + DAY,
    total: 3,
    failed: 0,
    skipped: 0,
    dmarc: [dmarcRow()],
    tls: [],
    ...change,
  }
}

export function domainReportsContract(storage: () => Storage): void {
  const keep = (report: WholeReport, limits = LIMITS) =>
    storage().keepDomainReport({ report, limits }, report.receivedAt)
  const listed = async (of: { teamId: string; domainId: string }, kind?: 'dmarc' | 'tls') =>
    (await storage().listDomainReports({ ...of, kind, limit: 10 }, T0)).items.map(({ id }) => id)

  test('finds a domain by the host of its return path', async () => {
    const { teamId, domainId, name } = await makeReported(storage())
    const find = (host: string) => storage().findReportedDomains({ host }, T0)
    const domain = { id: domainId, teamId, name, returnPath: 'send', status: 'verified' }
    expect(await find(`send.${name}`)).toEqual([domain])
    expect(await find(`other.${name}`)).toEqual([])
    expect(await find(name)).toEqual([])
  })

  test('returns a stored report in full, to its own team only', async () => {
    const of = await makeReported(storage())
    const other = await makeReported(storage())
    const policy = { domain: 'reported.example', p: 'none', sp: '', np: '', adkim: 'r', aspf: 'r' }
    const report = newDomainReport(of, {
      policy: { ...policy, pct: '100', fo: '', testing: '', discoveryMethod: '' },
      dmarc: Array.from({ length: 250 }, (_, i) => dmarcRow({ messages: i })),
    })
    expect(await keep(report)).toBe('kept')
    const get = (teamId: string, domainId = of.domainId) =>
      storage().getDomainReport({ teamId, domainId, id: report.id }, T0)
    expect(await get(of.teamId)).toEqual(report)
    expect(await get(other.teamId)).toBe(undefined)
    expect(await get(of.teamId, other.domainId)).toBe(undefined)
    expect(await listed({ ...of, teamId: other.teamId })).toEqual([])
    const { dmarc: _, tls: __, ...row } = report
    expect((await storage().listDomainReports({ ...of, limit: 10 }, T0)).items).toEqual([row])
    expect(await listed(of, 'tls')).toEqual([])
  })

  test('stores a report once by submitter, policy domain and time', async () => {
    const of = await makeReported(storage())
    const report = newDomainReport(of)
    expect(await keep(report)).toBe('kept')
    expect(await keep({ ...report, id: newId(T0), organization: 'Other' })).toBe('known')
    expect(await keep({ ...report, id: newId(T0), submitter: 'evil.example' })).toBe('kept')
    expect(await keep({ ...report, id: newId(T0), policyDomain: 'a.reported.example' })).toBe('kept')
    expect(await keep({ ...report, id: newId(T0), begin: T0 + 1 })).toBe('kept')
    expect(await listed(of)).toHaveLength(4)
  })

  test('limits the reports and rows of a domain in a day, in total and for each submitter', async () => {
    const of = await makeReported(storage())
    const limits = { submitter: 1, reports: 3, rows: 3 }
    const from = (submitter: string, rows = 1, receivedAt = T0) =>
      newDomainReport(of, { submitter, receivedAt, dmarc: Array.from({ length: rows }, () => dmarcRow()) })
    expect(await keep(from('a'), limits)).toBe('kept')
    expect(await keep(from('a'), limits)).toBe('full')
    expect(await keep(from('b', 3), limits)).toBe('full')
    expect(await keep(from('b'), limits)).toBe('kept')
    expect(await keep(from('c'), limits)).toBe('kept')
    expect(await keep(from('d', 0), limits)).toBe('full')
    expect(await keep(from('a', 1, T0 + DAY), limits)).toBe('kept')
  })

  test('sums the rows of a period', async () => {
    const of = await makeReported(storage())
    const bad = dmarcRow({ sourceIp: '2001:db8::1', dkimAligned: false, messages: 50 })
    await keep(newDomainReport(of, { total: 53, failed: 50, dmarc: [dmarcRow(), bad] }))
    await keep(newDomainReport(of, { dmarc: [dmarcRow({ messages: 4 })], total: 4 }))
    await keep(newDomainReport(of, { begin: T0 + 2 * DAY }))
    const period = { ...of, ...PERIOD }
    expect(await storage().sumDmarc(period, T0)).toEqual([bad, dmarcRow({ messages: 7 })])
    const day = Math.floor(T0 / DAY)
    expect(await storage().domainReportDays({ ...period, kind: 'dmarc' }, T0)).toEqual([
      { submitter: 'google.example', organization: 'Google', day, reports: 2, total: 57, failed: 50 },
    ])
    const other = await makeReported(storage())
    expect(await storage().sumDmarc({ ...period, teamId: other.teamId }, T0)).toEqual([])
    expect(await storage().domainReportDays({ ...period, teamId: other.teamId, kind: 'dmarc' }, T0)).toEqual(
      [],
    )
  })

  test('sums TLS reports separately', async () => {
    const of = await makeReported(storage())
    const failed = tlsRow({ failure: 'certificate-expired', receivingMx: 'mx.reported.example', sessions: 1 })
    const kept = { kind: 'tls', dmarc: [], tls: [tlsRow(), failed], total: 6, failed: 1 } as const
    const report = newDomainReport(of, { ...kept, dmarc: [], tls: [...kept.tls] })
    await keep(report)
    await keep({ ...report, id: newId(T0), reportId: 'other' })
    const { teamId, domainId } = of
    expect(await storage().getDomainReport({ teamId, domainId, id: report.id }, T0)).toEqual(report)
    expect(await storage().sumTls({ ...of, ...PERIOD }, T0)).toEqual([
      tlsRow({ sessions: 10 }),
      { ...failed, sessions: 2 },
    ])
    expect(await storage().sumDmarc({ ...of, ...PERIOD }, T0)).toEqual([])
  })

  test('removes old reports, and those of a deleted domain', async () => {
    const of = await makeReported(storage())
    // IDs of one process never go backwards, so the old one is made by hand.
    const [old, fresh] = [newDomainReport(of, { id: `0000${newId(T0).slice(4)}` }), newDomainReport(of)]
    await keep(old)
    await keep(fresh)
    expect(await storage().purgeDomainReports({ before: T0 - DAY, most: 100 }, T0)).toBe(1)
    expect(await listed(of)).toEqual([fresh.id])
    expect(await storage().sumDmarc({ ...of, ...PERIOD }, T0)).toEqual([dmarcRow()])
    await storage().deleteDomain({ teamId: of.teamId, id: of.domainId }, T0)
    expect(await listed(of)).toEqual([])
    expect(await keep(newDomainReport(of))).toBe('unknown')
  })
}
