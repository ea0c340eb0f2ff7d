/**
 * Reports to senders. Each report becomes due in the transaction that decided the outcome of its delivery, and is created
 * once.
 */
import type { EnvelopeDsn, RecipientDsn, ReportKind } from '../mail/dsn.ts'
import type { Cause, DeliveryState } from '../mail/verdict.ts'
import { parseNotify } from './deliveries.ts'
import type { Db } from './schema.ts'
import type { Connection } from './connection.ts'
import type { RequireTls } from '../mail/tls-policy.ts'

/** Deliveries of one email that share one report. */
export interface DueReport {
  kind: ReportKind
  emailId: string
  teamId: string
  domainId: string
  /** The email's sending domain; null if it was deleted. */
  domain: string | null
  subject: string
  messageId: string
  reportTo: string
  /** When the email was accepted. */
  createdAt: number
  dsn: EnvelopeDsn
  /** The sender's TLS requirement (RFC 8689), which also applies to the report. */
  requireTls: RequireTls
  deliveries: ReportedDelivery[]
}

/** A delivery in its state at the time the report is created. */
export interface ReportedDelivery {
  id: string
  recipient: string
  dsn: RecipientDsn
  state: DeliveryState
  attempts: number
  /** When the last attempt ended or the delivery expired. */
  updatedAt: number
  /** When the delivery expires; null if it is final. */
  expiresAt: number | null
  cause: Cause | null
}

/** Identifies due reports. */
export interface ReportRef {
  kind: ReportKind
  emailId: string
  deliveryIds: string[]
}

/** Lists due reports, starting with the oldest emails. */
async function dueReports(db: Db, args: { limit: number }): Promise<DueReport[]> {
  const heads = await db
    .selectFrom('reports')
    .innerJoin('emails as e', 'e.id', 'reports.email_id')
    .leftJoin('domains', 'domains.id', 'e.domain_id')
    .select([
      'reports.kind',
      'reports.email_id',
      'e.id',
      'e.team_id',
      'e.domain_id',
      'domains.name as domain',
      'e.subject',
    ])
    .select(['e.message_id', 'e.report_to', 'e.created_at', 'e.ret', 'e.envid', 'e.require_tls'])
    .distinct()
    .where('reports.done_at', 'is', null)
    .where('e.report_to', 'is not', null)
    .orderBy('reports.email_id')
    .orderBy('reports.kind')
    .limit(args.limit)
    .execute()
  const due: DueReport[] = []
  for (const row of heads) {
    due.push({
      kind: row.kind,
      emailId: row.id,
      teamId: row.team_id,
      domainId: row.domain_id,
      domain: row.domain,
      subject: row.subject,
      messageId: row.message_id,
      reportTo: row.report_to!,
      createdAt: row.created_at,
      dsn: { ret: row.ret, envid: row.envid },
      requireTls: row.require_tls,
      deliveries: await deliveriesOf(db, row),
    })
  }
  return due
}

async function deliveriesOf(
  db: Db,
  { id, kind }: { id: string; kind: ReportRef['kind'] },
): Promise<ReportedDelivery[]> {
  const rows = await db
    .selectFrom('reports')
    .innerJoin('deliveries as d', (join) =>
      join.onRef('d.email_id', '=', 'reports.email_id').onRef('d.id', '=', 'reports.delivery_id'),
    )
    .select(['d.id', 'd.recipient', 'd.notify', 'd.orcpt', 'd.state', 'd.attempts', 'd.cause'])
    .select(['d.updated_at', 'd.expires_at'])
    .where('reports.email_id', '=', id)
    .where('reports.kind', '=', kind)
    .where('reports.done_at', 'is', null)
    .orderBy('d.id')
    .execute()
  return rows.map((row) => ({
    id: row.id,
    recipient: row.recipient,
    dsn: { notify: parseNotify(row.notify), orcpt: row.orcpt },
    // Don't tell senders that an operator holds a delivery.
    state: row.state === 'held' ? 'waiting' : row.state,
    attempts: row.attempts,
    updatedAt: row.updated_at,
    expiresAt: row.expires_at,
    cause: row.cause === null ? null : (JSON.parse(row.cause) as Cause),
  }))
}

/** Drops due reports without creating them, because there is nothing to report anymore. */
async function dropReports(db: Db, { kind, emailId, deliveryIds }: ReportRef, now: number): Promise<void> {
  if (deliveryIds.length === 0) return
  await db
    .updateTable('reports')
    .set({ done_at: now })
    .where('email_id', '=', emailId)
    .where('delivery_id', 'in', deliveryIds)
    .where('kind', '=', kind)
    .where('done_at', 'is', null)
    .execute()
}

/** A report to send. */
interface OwedReport {
  deliveryId: string
  kind: ReportKind
  teamId: string
  emailId: string
}

/** Part of `put` and `settle`: marks a report as due, once for each delivery and kind. */
export function createDueReportRecorder(db: Connection): (owed: OwedReport, now: number) => void {
  const insert = db.prepare(
    `insert into reports (delivery_id, kind, team_id, email_id, created_at) values (?, ?, ?, ?, ?)
     on conflict (email_id, delivery_id, kind) do nothing`,
  )
  return ({ deliveryId, kind, teamId, emailId }, now) =>
    void insert.run(deliveryId, kind, teamId, emailId, now)
}

export const methods = {
  reads: { dueReports },
  writes: { dropReports },
}
