/** Sums of the DMARC and TLS reports about a domain in a period. */
import { sql } from 'kysely'
import type { DmarcRow, DomainReportKind, TlsRow } from '../mail/domain-report.ts'
import { toDmarcRow, toTlsRow } from './domain-reports.ts'
import type { Db } from './schema.ts'

/** Selects reports by time, in Unix milliseconds. The start of a report's period counts. */
export interface ReportPeriod {
  teamId: string
  domainId: string
  since: number
  until: number
}

/** The reports of one reporter for one UTC day. */
export interface ReportDay {
  submitter: string
  organization: string
  /** Days since the start of 1970. */
  day: number
  reports: number
  total: number
  failed: number
}

/** Number of messages or sessions in the reports about a domain, and number of those that failed. */
export interface ReportTotal {
  domainId: string
  kind: DomainReportKind
  total: number
  failed: number
}

const DAY = 86_400_000
/** Maximum number of groups in a summary. Groups with the most messages come first. */
const MOST_GROUPS = 2000
/** Maximum number of reporter days to return. */
const MOST_DAYS = 20_000

/** The columns that DMARC rows are grouped by. */
const DMARC_SAME = [
  'source_ip',
  'header_from',
  'disposition',
  'dkim_aligned',
  'spf_aligned',
  'dkim_domain',
  'dkim_result',
  'spf_domain',
  'spf_result',
  'reason',
] as const

/**
 * Sums the rows of all DMARC reports in a period, grouped by content. Returns at most 2,000 groups, starting with those
 * that have the most messages.
 */
async function sumDmarc(db: Db, { teamId, domainId, since, until }: ReportPeriod): Promise<DmarcRow[]> {
  const same = DMARC_SAME.map((column) => `d.${column}` as const)
  const rows = await db
    .selectFrom('domain_reports as r')
    .innerJoin('dmarc_rows as d', 'd.report', 'r.id')
    .select(same)
    .select((of) => of.fn.sum<number>('d.messages').as('messages'))
    .where('r.team_id', '=', teamId)
    .where('r.domain_id', '=', domainId)
    .where('r.kind', '=', 'dmarc')
    .where('r.begin_at', '>=', since)
    .where('r.begin_at', '<', until)
    .groupBy(same)
    .orderBy('messages', 'desc')
    .orderBy('d.source_ip')
    .limit(MOST_GROUPS)
    .execute()
  return rows.map(toDmarcRow)
}

/** Sums TLS reports in the same way, by sessions. */
async function sumTls(db: Db, { teamId, domainId, since, until }: ReportPeriod): Promise<TlsRow[]> {
  const same = ['t.policy_type', 't.failure', 't.receiving_mx', 't.reason'] as const
  const rows = await db
    .selectFrom('domain_reports as r')
    .innerJoin('tls_rows as t', 't.report', 'r.id')
    .select(same)
    .select((of) => of.fn.sum<number>('t.sessions').as('sessions'))
    .where('r.team_id', '=', teamId)
    .where('r.domain_id', '=', domainId)
    .where('r.kind', '=', 'tls')
    .where('r.begin_at', '>=', since)
    .where('r.begin_at', '<', until)
    .groupBy(same)
    .orderBy('sessions', 'desc')
    .orderBy('t.failure')
    .limit(MOST_GROUPS)
    .execute()
  return rows.map(toTlsRow)
}

/** Lists the totals of each reporter for each UTC day, oldest first. */
async function domainReportDays(
  db: Db,
  { teamId, domainId, since, until, kind }: ReportPeriod & { kind: DomainReportKind },
): Promise<ReportDay[]> {
  const day = sql<number>`begin_at / ${sql.lit(DAY)}`
  const rows = await db
    .selectFrom('domain_reports')
    .select(['submitter', 'organization', day.as('day')])
    .select((of) => of.fn.countAll<number>().as('reports'))
    .select((of) => of.fn.sum<number>('total').as('total'))
    .select((of) => of.fn.sum<number>('failed').as('failed'))
    .where('team_id', '=', teamId)
    .where('domain_id', '=', domainId)
    .where('kind', '=', kind)
    .where('begin_at', '>=', since)
    .where('begin_at', '<', until)
    .groupBy(['submitter', 'organization', day])
    .orderBy('day')
    .orderBy('submitter')
    .limit(MOST_DAYS)
    .execute()
  return rows.map(({ submitter, organization, ...row }) => ({
    submitter,
    organization,
    day: Number(row.day),
    reports: Number(row.reports),
    total: Number(row.total),
    failed: Number(row.failed),
  }))
}

/** Sums the reports about each of these domains whose period begins at or after `since`. */
async function domainReportTotals(
  db: Db,
  { teamId, domainIds, since }: { teamId: string; domainIds: readonly string[]; since: number },
): Promise<ReportTotal[]> {
  const rows = await db
    .selectFrom('domain_reports')
    .select(['domain_id', 'kind'])
    .select((of) => of.fn.sum<number>('total').as('total'))
    .select((of) => of.fn.sum<number>('failed').as('failed'))
    .where('team_id', '=', teamId)
    .where('domain_id', 'in', domainIds)
    .where('kind', 'in', ['dmarc', 'tls'])
    .where('begin_at', '>=', since)
    .groupBy(['domain_id', 'kind'])
    .execute()
  return rows.map(({ domain_id, kind, total, failed }) => ({
    domainId: domain_id,
    kind,
    total: Number(total),
    failed: Number(failed),
  }))
}

export const methods = { reads: { sumDmarc, sumTls, domainReportDays, domainReportTotals } }
