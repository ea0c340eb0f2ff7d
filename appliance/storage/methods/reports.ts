import type { Kysely } from 'kysely'
import type { Cause } from '../../mail/verdict.ts'
import type { Tables } from '../schema.ts'
import type { DueReport, ReportedDelivery, ReportRef } from '../storage.ts'
import { fromNotify } from './recipients.ts'

type Db = Kysely<Tables>

/** See `Storage.dueReports`. */
export async function dueReports(db: Db, args: { limit: number }): Promise<DueReport[]> {
  const heads = await db
    .selectFrom('reports')
    .innerJoin('emails as e', 'e.id', 'reports.email_id')
    .leftJoin('domains', 'domains.id', 'e.domain_id')
    .select(['reports.kind', 'e.id', 'e.team_id', 'e.domain_id', 'domains.name as domain', 'e.subject'])
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
    .innerJoin('recipients as r', 'r.id', 'reports.delivery_id')
    .leftJoin('deliveries as d', 'd.id', 'r.id')
    .select([
      'r.id',
      'r.recipient',
      'r.notify',
      'r.orcpt',
      'r.state',
      'r.attempts',
      'r.cause',
      'r.updated_at',
    ])
    .select('d.expires_at')
    .where('reports.email_id', '=', id)
    .where('reports.kind', '=', kind)
    .where('reports.done_at', 'is', null)
    .orderBy('r.id')
    .execute()
  return rows.map((row) => ({
    id: row.id,
    recipient: row.recipient,
    dsn: { notify: fromNotify(row.notify), orcpt: row.orcpt },
    state: row.state,
    attempts: row.attempts,
    updatedAt: row.updated_at,
    expiresAt: row.expires_at,
    cause: row.cause === null ? null : (JSON.parse(row.cause) as Cause),
  }))
}

/** See `Storage.dropReports`. */
export async function dropReports(db: Db, { kind, deliveryIds }: ReportRef, now: number): Promise<void> {
  if (deliveryIds.length === 0) return
  await db
    .updateTable('reports')
    .set({ done_at: now })
    .where('delivery_id', 'in', deliveryIds)
    .where('kind', '=', kind)
    .where('done_at', 'is', null)
    .execute()
}
