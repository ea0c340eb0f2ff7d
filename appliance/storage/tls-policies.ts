/** TLS policies of recipient domains, and the results of TLS sessions. They belong to the server, not to a team. */
import { type Selectable, sql, type SqlBool } from 'kysely'
import { createHash } from 'node:crypto'
import type { Db, StsPoliciesTable, TlsResultsTable } from './schema.ts'

/** An MTA-STS policy (RFC 8461 §3.2). */
export interface StsPolicy {
  mode: 'enforce' | 'testing' | 'none'
  /** Host names, and `*.` with a domain, in lower case. */
  mx: string[]
  /** Seconds. */
  maxAge: number
}

/** A policy and its fetch times. */
export interface StoredStsPolicy {
  domain: string
  /** The ID in the TXT record when the policy was fetched (RFC 8461 §3.1). */
  id: string
  policy: StsPolicy
  /** When the policy was last fetched. */
  checkedAt: number
  usedAt: number
  /** When the policy expires. */
  expiresAt: number
}

/** The policy that applied to a session, in the form used by reports (RFC 8460 §4.4). */
export interface ReportedPolicy {
  type: 'sts' | 'tlsa' | 'no-policy-found'
  /** For DANE, the TLSA base domain; otherwise the recipient domain (RFC 8460 §1.1). */
  domain: string
  /** Lines of the policy file, or TLSA records in presentation format. */
  strings: string[]
  /** Patterns of an MTA-STS policy. */
  mxHosts: string[]
}

/** Sessions with the same result, and their number. */
export interface TlsCount {
  /** YYYY-MM-DD, UTC. */
  day: string
  /** The recipient domain. */
  domain: string
  policy: ReportedPolicy
  /** A result type of RFC 8460 §4.3. */
  result: string
  /** Empty if unknown or not counted separately. The same applies to the next two fields. */
  sourceIp: string
  mxHost: string
  mxIp: string
  /** The reason of a failure; empty for successes. */
  reason: string
  sessions: number
}

/** A report that was sent to a domain, or why none was. */
export interface TlsReportRecord {
  day: string
  domain: string
  state: 'sent' | 'none' | 'failed'
  /** One sentence. */
  note: string
  at: number
}

const toPolicy = (row: Selectable<StsPoliciesTable>): StoredStsPolicy => ({
  domain: row.domain,
  id: row.policy_id,
  policy: JSON.parse(row.policy) as StsPolicy,
  checkedAt: row.checked_at,
  usedAt: row.used_at,
  expiresAt: row.expires_at,
})

/** Finds the policy of a domain, even if it has expired. */
async function findStsPolicy(db: Db, { domain }: { domain: string }): Promise<StoredStsPolicy | undefined> {
  const row = await db.selectFrom('sts_policies').selectAll().where('domain', '=', domain).executeTakeFirst()
  return row && toPolicy(row)
}

/** Saves a policy. Replaces the domain's earlier one. */
async function saveStsPolicy(db: Db, args: StoredStsPolicy): Promise<void> {
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

/** Records that the policy was used. */
async function useStsPolicy(db: Db, { domain }: { domain: string }, now: number): Promise<void> {
  await db.updateTable('sts_policies').set({ used_at: now }).where('domain', '=', domain).execute()
}

/** Lists valid policies that were last fetched before `checkedBefore` and used after `usedAfter`, oldest first. */
async function dueStsPolicies(
  db: Db,
  { checkedBefore, usedAfter, limit }: { checkedBefore: number; usedAfter: number; limit: number },
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

function toRow(result: TlsCount): Row {
  const policy = JSON.stringify(result.policy)
  const { day, domain, sourceIp, mxHost, mxIp, reason } = result
  return {
    day,
    domain,
    policy,
    reason,
    policy_key: keyOf(policy),
    result: result.result,
    source_ip: sourceIp,
    mx_host: mxHost,
    mx_ip: mxIp,
  }
}

const KEY = ['day', 'domain', 'policy_key', 'result', 'source_ip', 'mx_host', 'mx_ip'] as const

/**
 * Adds to the counts. A domain has at most `most` rows per day. Beyond that, sessions are counted without source IP, MX
 * host and MX IP and, if that isn't enough, not at all.
 */
async function addTlsResults(
  db: Db,
  { results, most }: { results: TlsCount[]; most: number },
): Promise<void> {
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
    // The last tenth is reserved for counts without details, so that new kinds of failures are still counted.
    const count = Number(rows.count)
    if (count >= most) continue
    const row = count >= most * 0.9 ? short : whole
    await db
      .insertInto('tls_results')
      .values({ ...row, sessions: result.sessions })
      .execute()
  }
}

/** Adds to an existing row. Returns false if it doesn't exist. */
async function bump(db: Db, row: Row, sessions: number): Promise<boolean> {
  let query = db.updateTable('tls_results').set({ sessions: sql`sessions + ${sessions}` })
  for (const column of KEY) query = query.where(column, '=', row[column])
  const { numUpdatedRows } = await query.executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}

const toResult = (row: Selectable<TlsResultsTable>): TlsCount => ({
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

/** Lists the counts from day `since` on, newest day first, then by domain. */
async function listTlsResults(
  db: Db,
  { since, domain, limit }: { since: string; domain?: string | undefined; limit: number },
): Promise<TlsCount[]> {
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

/** Lists all results of one domain and day. */
async function tlsResultsOf(db: Db, { day, domain }: { day: string; domain: string }): Promise<TlsCount[]> {
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

/**
 * Lists domains and days from `since` (inclusive) to `before` (exclusive) that have results but no report yet, oldest
 * first. `after`: the last one of the previous page.
 */
async function dueTlsReports(
  db: Db,
  {
    since,
    before,
    after,
    limit,
  }: { since: string; before: string; after?: { day: string; domain: string } | undefined; limit: number },
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
    .$if(after !== undefined, (query) =>
      query.where(sql<SqlBool>`(tls_results.day, tls_results.domain) > (${after!.day}, ${after!.domain})`),
    )
    .orderBy('tls_results.day')
    .orderBy('tls_results.domain')
    .limit(limit)
    .execute()
}

/**
 * Marks a report as done. Returns false and changes nothing if it was already marked, because then another node sends
 * it. The primary key decides.
 */
async function saveTlsReport(db: Db, args: TlsReportRecord): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('tls_reports')
    .values(args)
    .onConflict((conflict) => conflict.columns(['day', 'domain']).doNothing())
    .executeTakeFirstOrThrow()
  return (numInsertedOrUpdatedRows ?? 0n) > 0n
}

async function listTlsReports(
  db: Db,
  { since, limit }: { since: string; limit: number },
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

/**
 * Deletes results and reports of days before `before`, and expired policies. Returns the number of rows. Deletes whole
 * days of one domain at a time, so that no report covers part of a day.
 */
async function purgeTlsResults(
  db: Db,
  { before, most }: { before: string; most: number },
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

export const methods = {
  reads: { findStsPolicy, dueStsPolicies, listTlsResults, tlsResultsOf, dueTlsReports, listTlsReports },
  writes: { saveStsPolicy, useStsPolicy, addTlsResults, saveTlsReport, purgeTlsResults },
}
