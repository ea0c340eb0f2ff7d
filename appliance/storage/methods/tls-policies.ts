import { createHash } from 'node:crypto'
import { type Kysely, type Selectable, sql } from 'kysely'
import type { StsPoliciesTable, Tables, TlsResultsTable } from '../schema.ts'
import type {
  ReportedPolicy,
  StoredStsPolicy,
  StsPolicy,
  TlsPolicyStorage,
  TlsReportRecord,
  TlsTally,
} from '../storage.ts'

type Db = Kysely<Tables>
type Args<M extends keyof TlsPolicyStorage> = Parameters<TlsPolicyStorage[M]>[0]

const toPolicy = (row: Selectable<StsPoliciesTable>): StoredStsPolicy => ({
  domain: row.domain,
  id: row.policy_id,
  policy: JSON.parse(row.policy) as StsPolicy,
  checkedAt: row.checked_at,
  usedAt: row.used_at,
  expiresAt: row.expires_at,
})

/** See `TlsPolicyStorage.findStsPolicy`. */
export async function findStsPolicy(
  db: Db,
  { domain }: Args<'findStsPolicy'>,
): Promise<StoredStsPolicy | undefined> {
  const row = await db.selectFrom('sts_policies').selectAll().where('domain', '=', domain).executeTakeFirst()
  return row && toPolicy(row)
}

/** See `TlsPolicyStorage.saveStsPolicy`. */
export async function saveStsPolicy(db: Db, args: Args<'saveStsPolicy'>): Promise<void> {
  const row = {
    policy_id: args.id,
    policy: JSON.stringify(args.policy),
    checked_at: args.checkedAt,
    used_at: args.usedAt,
    expires_at: args.expiresAt,
  }
  await db
    .insertInto('sts_policies')
    .values({ domain: args.domain, ...row })
    .onConflict((conflict) => conflict.column('domain').doUpdateSet(row))
    .execute()
}

/** See `TlsPolicyStorage.useStsPolicy`. */
export async function useStsPolicy(db: Db, { domain }: Args<'useStsPolicy'>, now: number): Promise<void> {
  await db.updateTable('sts_policies').set({ used_at: now }).where('domain', '=', domain).execute()
}

/** See `TlsPolicyStorage.dueStsPolicies`. */
export async function dueStsPolicies(
  db: Db,
  { checkedBefore, usedAfter, limit }: Args<'dueStsPolicies'>,
  now: number,
): Promise<StoredStsPolicy[]> {
  const rows = await db
    .selectFrom('sts_policies')
    .selectAll()
    .where('checked_at', '<', checkedBefore)
    .where('used_at', '>', usedAfter)
    .where('expires_at', '>', now)
    .orderBy('checked_at')
    .limit(limit)
    .execute()
  return rows.map(toPolicy)
}

const keyOf = (policy: string): string => createHash('sha256').update(policy).digest('hex').slice(0, 16)

type Row = Omit<Selectable<TlsResultsTable>, 'sessions'>

function toRow(result: TlsTally): Row {
  const policy = JSON.stringify(result.policy)
  const { day, domain, sourceIp, mxHost, mxIp, reason } = result
  return {
    ...{ day, domain, policy, reason, policy_key: keyOf(policy), result: result.result },
    ...{ source_ip: sourceIp, mx_host: mxHost, mx_ip: mxIp },
  }
}

const KEY = ['day', 'domain', 'policy_key', 'result', 'source_ip', 'mx_host', 'mx_ip'] as const

/** See `TlsPolicyStorage.addTlsResults`. */
export async function addTlsResults(db: Db, { results, most }: Args<'addTlsResults'>): Promise<void> {
  for (const result of results) {
    const whole = toRow(result)
    const short = { ...whole, source_ip: '', mx_host: '', mx_ip: '' }
    if (await bump(db, whole, result.sessions)) continue
    if (await bump(db, short, result.sessions)) continue
    const rows = await db
      .selectFrom('tls_results')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('day', '=', result.day)
      .where('domain', '=', result.domain)
      .executeTakeFirstOrThrow()
    // The last tenth is for what is not told apart, so that new kinds of failures are still counted.
    const count = Number(rows.count)
    if (count >= most) continue
    const row = count >= most * 0.9 ? short : whole
    await db
      .insertInto('tls_results')
      .values({ ...row, sessions: result.sessions })
      .execute()
  }
}

/** Adds to a row that is there; false when there is none. */
async function bump(db: Db, row: Row, sessions: number): Promise<boolean> {
  let query = db.updateTable('tls_results').set({ sessions: sql`sessions + ${sessions}` })
  for (const column of KEY) query = query.where(column, '=', row[column])
  const { numUpdatedRows } = await query.executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}

const toResult = (row: Selectable<TlsResultsTable>): TlsTally => ({
  day: row.day,
  domain: row.domain,
  policy: JSON.parse(row.policy) as ReportedPolicy,
  result: row.result,
  sourceIp: row.source_ip,
  mxHost: row.mx_host,
  mxIp: row.mx_ip,
  reason: row.reason,
  sessions: row.sessions,
})

/** See `TlsPolicyStorage.listTlsResults`. */
export async function listTlsResults(
  db: Db,
  { since, domain, limit }: Args<'listTlsResults'>,
): Promise<TlsTally[]> {
  let query = db.selectFrom('tls_results').selectAll().where('day', '>=', since)
  if (domain !== undefined) query = query.where('domain', '=', domain)
  const rows = await query
    .orderBy('day', 'desc')
    .orderBy('domain')
    .orderBy('policy_key')
    .orderBy('result')
    .orderBy('source_ip')
    .orderBy('mx_host')
    .orderBy('mx_ip')
    .limit(limit)
    .execute()
  return rows.map(toResult)
}

/** See `TlsPolicyStorage.tlsResultsOf`. */
export async function tlsResultsOf(db: Db, { day, domain }: Args<'tlsResultsOf'>): Promise<TlsTally[]> {
  const rows = await db
    .selectFrom('tls_results')
    .selectAll()
    .where('day', '=', day)
    .where('domain', '=', domain)
    .orderBy('policy_key')
    .orderBy('result')
    .orderBy('mx_host')
    .orderBy('mx_ip')
    .orderBy('source_ip')
    .execute()
  return rows.map(toResult)
}

/** See `TlsPolicyStorage.dueTlsReports`. */
export async function dueTlsReports(
  db: Db,
  { since, before, limit }: Args<'dueTlsReports'>,
): Promise<{ day: string; domain: string }[]> {
  return db
    .selectFrom('tls_results')
    .leftJoin('tls_reports', (join) =>
      join
        .onRef('tls_reports.day', '=', 'tls_results.day')
        .onRef('tls_reports.domain', '=', 'tls_results.domain'),
    )
    .select(['tls_results.day', 'tls_results.domain'])
    .distinct()
    .where('tls_results.day', '>=', since)
    .where('tls_results.day', '<', before)
    .where('tls_reports.day', 'is', null)
    .orderBy('tls_results.day')
    .orderBy('tls_results.domain')
    .limit(limit)
    .execute()
}

/** See `TlsPolicyStorage.saveTlsReport`. The primary key decides. */
export async function saveTlsReport(db: Db, args: Args<'saveTlsReport'>): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('tls_reports')
    .values(args)
    .onConflict((conflict) => conflict.columns(['day', 'domain']).doNothing())
    .executeTakeFirstOrThrow()
  return (numInsertedOrUpdatedRows ?? 0n) > 0n
}

/** See `TlsPolicyStorage.listTlsReports`. */
export async function listTlsReports(
  db: Db,
  { since, limit }: Args<'listTlsReports'>,
): Promise<TlsReportRecord[]> {
  return db
    .selectFrom('tls_reports')
    .selectAll()
    .where('day', '>=', since)
    .orderBy('day', 'desc')
    .orderBy('domain')
    .limit(limit)
    .execute()
}

/** See `TlsPolicyStorage.purgeTlsResults`. Whole days of one domain at a time, so that a report is never made of half a day. */
export async function purgeTlsResults(
  db: Db,
  { before, most }: Args<'purgeTlsResults'>,
  now: number,
): Promise<number> {
  let removed = 0
  for (const table of ['tls_results', 'tls_reports'] as const) {
    const old = await db
      .selectFrom(table)
      .select(['day', 'domain'])
      .distinct()
      .where('day', '<', before)
      .orderBy('day')
      .orderBy('domain')
      .limit(most)
      .execute()
    for (const { day, domain } of old) {
      const { numDeletedRows } = await db
        .deleteFrom(table)
        .where('day', '=', day)
        .where('domain', '=', domain)
        .executeTakeFirstOrThrow()
      removed += Number(numDeletedRows)
    }
  }
  const expired = db.selectFrom('sts_policies').select('domain').where('expires_at', '<=', now).limit(most)
  const { numDeletedRows } = await db
    .deleteFrom('sts_policies')
    .where('domain', 'in', expired)
    .executeTakeFirstOrThrow()
  return removed + Number(numDeletedRows)
}
