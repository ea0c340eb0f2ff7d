import { expect, test } from 'vitest'
import type { Storage, StoredStsPolicy, TlsCount } from '../../appliance/storage/storage.ts'
import { DAY, T0 } from './fixtures.ts'

const stored = (domain: string, more: Partial<StoredStsPolicy> = {}): StoredStsPolicy => ({
  domain,
  id: '1',
  policy: { mode: 'enforce', mx: [`*.${domain}`], maxAge: 86_400 },
  checkedAt: T0,
  usedAt: T0,
  expiresAt: T0 + DAY,
  ...more,
})

const tally = (domain: string, more: Partial<TlsCount> = {}): TlsCount => ({
  day: '2026-11-20',
  domain,
  policy: { type: 'no-policy-found', domain, strings: [], mxHosts: [] },
  result: 'starttls-not-supported',
  sourceIp: '192.0.2.1',
  mxHost: `mx.${domain}`,
  mxIp: '192.0.2.2',
  reason: 'does not offer TLS',
  sessions: 1,
  ...more,
})

export function tlsPoliciesContract(storage: () => Storage): void {
  test('stores and replaces an MTA-STS policy, and records its use', async () => {
    expect(await storage().findStsPolicy({ domain: 'a.sts' }, T0)).toBeUndefined()
    await storage().saveStsPolicy(stored('a.sts'), T0)
    const next = stored('a.sts', { id: '2', policy: { mode: 'none', mx: [], maxAge: 0 }, checkedAt: T0 + 5 })
    await storage().saveStsPolicy(next, T0)
    await storage().useStsPolicy({ domain: 'a.sts' }, T0 + 7)
    expect(await storage().findStsPolicy({ domain: 'a.sts' }, T0)).toEqual({ ...next, usedAt: T0 + 7 })
  })

  test('finds policies due for a refresh that are used and still valid, oldest first', async () => {
    await storage().saveStsPolicy(stored('old.due', { checkedAt: T0 - 2 }), T0)
    await storage().saveStsPolicy(stored('older.due', { checkedAt: T0 - 3 }), T0)
    await storage().saveStsPolicy(stored('unused.due', { checkedAt: T0 - 3, usedAt: T0 - 9 }), T0)
    await storage().saveStsPolicy(stored('over.due', { checkedAt: T0 - 3, expiresAt: T0 }), T0)
    const due = (limit: number) =>
      storage().dueStsPolicies({ checkedBefore: T0 - 1, usedAfter: T0 - 5, limit }, T0)
    expect((await due(10)).map(({ domain }) => domain)).toEqual(['older.due', 'old.due'])
    expect(await due(1)).toHaveLength(1)
  })

  test('adds up TLS results that match in all fields', async () => {
    const good = { result: 'success', sourceIp: '', mxHost: '', mxIp: '', reason: '' }
    const results = [tally('sum.test'), tally('sum.test', good), tally('sum.test', { mxIp: '192.0.2.3' })]
    await storage().addTlsResults({ results, most: 100 }, T0)
    await storage().addTlsResults({ results: [tally('sum.test', { sessions: 4 })], most: 100 }, T0)
    const all = await storage().tlsResultsOf({ day: '2026-11-20', domain: 'sum.test' }, T0)
    expect(all.map(({ result, mxIp, sessions }) => [result, mxIp, sessions])).toEqual([
      ['starttls-not-supported', '192.0.2.2', 5],
      ['starttls-not-supported', '192.0.2.3', 1],
      ['success', '', 1],
    ])
    expect(await storage().listTlsResults({ since: '2026-11-21', domain: 'sum.test', limit: 9 }, T0)).toEqual(
      [],
    )
  })

  test('limits the rows of a domain when its results keep differing', async () => {
    const results = Array.from({ length: 300 }, (_, at) => tally('many.test', { mxIp: `192.0.2.${at}` }))
    await storage().addTlsResults({ results, most: 50 }, T0)
    const all = await storage().tlsResultsOf({ day: '2026-11-20', domain: 'many.test' }, T0)
    expect(all).toHaveLength(46)
    expect(all.find(({ mxHost }) => mxHost === '')?.sessions).toBe(255)
  })

  test('a TLS report is due once, for past days', async () => {
    const results = [
      tally('due.rpt'),
      tally('due.rpt', { day: '2026-11-21' }),
      tally('due.rpt', { day: '2026-11-01' }),
    ]
    await storage().addTlsResults({ results, most: 100 }, T0)
    const due = async () =>
      (await storage().dueTlsReports({ since: '2026-11-10', before: '2026-11-21', limit: 100 }, T0)).filter(
        ({ domain }) => domain === 'due.rpt',
      )
    expect(await due()).toEqual([{ day: '2026-11-20', domain: 'due.rpt' }])
    const behind = async (after: { day: string; domain: string }) =>
      (await storage().dueTlsReports({ since: '2026-11-10', before: '2026-11-21', after, limit: 1 }, T0))[0]
    expect(await behind({ day: '2026-11-20', domain: 'due.rp' })).toEqual({
      day: '2026-11-20',
      domain: 'due.rpt',
    })
    expect((await behind({ day: '2026-11-20', domain: 'due.rpt' }))?.domain).not.toBe('due.rpt')
    const record = { day: '2026-11-20', domain: 'due.rpt', state: 'sent', note: 'Sent.', at: T0 } as const
    expect(await storage().saveTlsReport(record, T0)).toBe(true)
    expect(await storage().saveTlsReport({ ...record, state: 'failed' }, T0)).toBe(false)
    expect(await due()).toEqual([])
    expect(await storage().listTlsReports({ since: '2026-11-20', limit: 10 }, T0)).toEqual([record])
  })

  test('removes old results and expired policies', async () => {
    await storage().addTlsResults({ results: [tally('gone.test', { day: '2020-01-01' })], most: 100 }, T0)
    await storage().saveStsPolicy(stored('gone.test', { expiresAt: T0 - 1 }), T0)
    while ((await storage().purgeTlsResults({ before: '2026-11-01', most: 1 }, T0)) > 0);
    expect(await storage().tlsResultsOf({ day: '2020-01-01', domain: 'gone.test' }, T0)).toEqual([])
    expect(await storage().findStsPolicy({ domain: 'gone.test' }, T0)).toBeUndefined()
  })
}
