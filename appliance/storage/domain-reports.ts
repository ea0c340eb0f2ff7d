/**
 * DMARC and TLS reports from other servers about a domain: their content, without the messages that they arrived in.
 */
import { type Selectable, sql } from 'kysely'
import type { PublishedPolicy } from '../mail/dmarc-report.ts'
import type { DmarcRow, DomainReportKind, ParsedDomainReport, TlsRow } from '../mail/domain-report.ts'
import { firstIdAt } from '../mail/ids.ts'
import { type Page, type PageArgs, readPage } from './lists.ts'
import type { Db, DmarcRowsTable, DomainReportsTable, TlsRowsTable } from './schema.ts'
import type { DomainStatus } from './values.ts'

/** A stored report. */
export interface DomainReport extends Omit<ParsedDomainReport, 'dmarc' | 'tls'> {
  id: string
  teamId: string
  domainId: string
  receivedAt: number
  /** The authenticated domain in the From field of the report's message. */
  submitter: string
}

/** Limits on the reports that are stored for one domain in 24 hours. */
export interface DomainReportLimits {
  /** Maximum number of reports of one submitter, and of all submitters. */
  submitter: number
  reports: number
  rows: number
}

/** A domain that receives reports. */
export interface ReportReceivingDomain {
  id: string
  teamId: string
  name: string
  returnPath: string
  status: DomainStatus
}

const DAY = 86_400_000
/** Number of rows per insert statement. */
const CHUNK = 100

const toReport = (row: Selectable<DomainReportsTable>): DomainReport => ({
  id: row.id,
  teamId: row.team_id,
  domainId: row.domain_id,
  kind: row.kind,
  receivedAt: row.received_at,
  submitter: row.submitter,
  organization: row.organization,
  reportId: row.report_id,
  policyDomain: row.policy_domain,
  policy: JSON.parse(row.policy) as PublishedPolicy | null,
  begin: row.begin_at,
  end: row.end_at,
  total: row.total,
  failed: row.failed,
  skipped: row.skipped,
})

type DmarcColumns = Omit<Selectable<DmarcRowsTable>, 'report' | 'position'>

export const toDmarcRow = (row: DmarcColumns): DmarcRow => ({
  sourceIp: row.source_ip,
  headerFrom: row.header_from,
  disposition: row.disposition,
  dkimAligned: row.dkim_aligned === 1,
  spfAligned: row.spf_aligned === 1,
  dkimDomain: row.dkim_domain,
  dkimResult: row.dkim_result,
  spfDomain: row.spf_domain,
  spfResult: row.spf_result,
  reason: row.reason,
  messages: Number(row.messages),
})

const fromDmarc = (row: DmarcRow): DmarcColumns => ({
  source_ip: row.sourceIp,
  header_from: row.headerFrom,
  disposition: row.disposition,
  dkim_aligned: Number(row.dkimAligned),
  spf_aligned: Number(row.spfAligned),
  dkim_domain: row.dkimDomain,
  dkim_result: row.dkimResult,
  spf_domain: row.spfDomain,
  spf_result: row.spfResult,
  reason: row.reason,
  messages: row.messages,
})

const toRow = (report: DomainReport, rows: number): Selectable<DomainReportsTable> => ({
  id: report.id,
  team_id: report.teamId,
  domain_id: report.domainId,
  kind: report.kind,
  received_at: report.receivedAt,
  submitter: report.submitter,
  organization: report.organization,
  report_id: report.reportId,
  policy_domain: report.policyDomain,
  policy: JSON.stringify(report.policy),
  begin_at: report.begin,
  end_at: report.end,
  total: report.total,
  failed: report.failed,
  skipped: report.skipped,
  row_count: rows,
})

const fromTls = (row: TlsRow): Omit<Selectable<TlsRowsTable>, 'report' | 'position'> => ({
  policy_type: row.policyType,
  failure: row.failure,
  receiving_mx: row.receivingMx,
  reason: row.reason,
  sessions: row.sessions,
})

export const toTlsRow = (row: Omit<Selectable<TlsRowsTable>, 'report' | 'position'>): TlsRow => ({
  policyType: row.policy_type,
  failure: row.failure,
  receivingMx: row.receiving_mx,
  reason: row.reason,
  sessions: Number(row.sessions),
})

/**
 * Finds the domains whose return path is this host (lower case, A-labels). There is more than one only while several
 * teams claim the name.
 */
async function findReportedDomains(db: Db, { host }: { host: string }): Promise<ReportReceivingDomain[]> {
  // The return path host is one label below the domain.
  const dot = host.indexOf('.')
  const rows = await db
    .selectFrom('domains')
    .select(['id', 'team_id', 'name', 'return_path', 'status'])
    .where('name', '=', host.slice(dot + 1))
    .where('return_path', '=', host.slice(0, dot))
    .execute()
  return rows.map((row) => ({
    id: row.id,
    teamId: row.team_id,
    name: row.name,
    returnPath: row.return_path,
    status: row.status,
  }))
}

/**
 * Stores a report. `known`: it is already stored. `full`: the domain has reached its limit. `unknown`: the domain
 * doesn't exist. Stores nothing unless the result is `kept`.
 */
async function keepDomainReport(
  db: Db,
  {
    report,
    limits,
  }: { report: DomainReport & Pick<ParsedDomainReport, 'dmarc' | 'tls'>; limits: DomainReportLimits },
  now: number,
): Promise<'kept' | 'known' | 'full' | 'unknown'> {
  const domain = await db
    .selectFrom('domains')
    .select('id')
    .where('id', '=', report.domainId)
    .where('team_id', '=', report.teamId)
    .executeTakeFirst()
  if (!domain) return 'unknown'
  if (await isKnown(db, report)) return 'known'
  const { id, dmarc, tls } = report
  const rows = dmarc.length + tls.length
  if (await isFull(db, report, rows, limits, now)) return 'full'
  await db.insertInto('domain_reports').values(toRow(report, rows)).execute()
  for (const [at, some] of chunks(dmarc))
    await db
      .insertInto('dmarc_rows')
      .values(some.map((row, i) => ({ report: id, position: at + i, ...fromDmarc(row) })))
      .execute()
  for (const [at, some] of chunks(tls))
    await db
      .insertInto('tls_rows')
      .values(some.map((row, i) => ({ report: id, position: at + i, ...fromTls(row) })))
      .execute()
  return 'kept'
}

/** Splits rows into chunks, each for one statement. Yields the index of the first row with each chunk. */
function* chunks<T>(rows: readonly T[]): Generator<[number, T[]]> {
  for (let at = 0; at < rows.length; at += CHUNK) yield [at, rows.slice(at, at + CHUNK)]
}

async function isKnown(db: Db, report: DomainReport): Promise<boolean> {
  const row = await db
    .selectFrom('domain_reports')
    .select('id')
    .where('domain_id', '=', report.domainId)
    .where('kind', '=', report.kind)
    .where('submitter', '=', report.submitter)
    .where('report_id', '=', report.reportId)
    .where('policy_domain', '=', report.policyDomain)
    .where('begin_at', '=', report.begin)
    .executeTakeFirst()
  return row !== undefined
}

async function isFull(
  db: Db,
  { domainId, submitter }: DomainReport,
  rows: number,
  limits: DomainReportLimits,
  now: number,
): Promise<boolean> {
  const found = await db
    .selectFrom('domain_reports')
    .select((of) => of.fn.countAll<number>().as('reports'))
    .select(sql<number>`coalesce(sum(row_count), 0)`.as('rows'))
    .select(sql<number>`coalesce(sum(case when submitter = ${submitter} then 1 else 0 end), 0)`.as('same'))
    .where('domain_id', '=', domainId)
    .where('received_at', '>', now - DAY)
    .executeTakeFirstOrThrow()
  if (Number(found.same) >= limits.submitter || Number(found.reports) >= limits.reports) return true
  return Number(found.rows) + rows > limits.rows
}

/** Lists reports, newest first. */
async function listDomainReports(
  db: Db,
  args: PageArgs & { domainId: string; kind?: DomainReportKind | undefined },
): Promise<Page<DomainReport>> {
  let query = db
    .selectFrom('domain_reports')
    .selectAll()
    .where('team_id', '=', args.teamId)
    .where('domain_id', '=', args.domainId)
  if (args.kind !== undefined) query = query.where('kind', '=', args.kind)
  return readPage(query, args, toReport)
}

/** Returns a report with its rows, in the order in which they were stored. */
async function getDomainReport(
  db: Db,
  { teamId, domainId, id }: { teamId: string; domainId: string; id: string },
): Promise<(DomainReport & Pick<ParsedDomainReport, 'dmarc' | 'tls'>) | undefined> {
  const row = await db
    .selectFrom('domain_reports')
    .selectAll()
    .where('id', '=', id)
    .where('team_id', '=', teamId)
    .where('domain_id', '=', domainId)
    .executeTakeFirst()
  if (!row) return undefined
  const dmarc = await db
    .selectFrom('dmarc_rows')
    .selectAll()
    .where('report', '=', id)
    .orderBy('position')
    .execute()
  const tls = await db
    .selectFrom('tls_rows')
    .selectAll()
    .where('report', '=', id)
    .orderBy('position')
    .execute()
  return { ...toReport(row), dmarc: dmarc.map(toDmarcRow), tls: tls.map(toTlsRow) }
}

/** Deletes reports received before a time and returns their number. */
async function purgeDomainReports(
  db: Db,
  { before, most }: { before: number; most: number },
): Promise<number> {
  const old = db
    .selectFrom('domain_reports')
    .select('id')
    .where('id', '<', firstIdAt(before))
    .orderBy('id')
    .limit(most)
  const removed = await db.deleteFrom('domain_reports').where('id', 'in', old).executeTakeFirst()
  return Number(removed.numDeletedRows)
}

export const methods = {
  reads: { findReportedDomains, listDomainReports, getDomainReport },
  writes: { keepDomainReport, purgeDomainReports },
}
