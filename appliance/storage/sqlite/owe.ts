import type { ReportKind } from '../../mail/dsn.ts'
import type { Connection } from './connection.ts'

/** A report that somebody is to be sent. */
interface Owed {
  deliveryId: string
  kind: ReportKind
  teamId: string
  emailId: string
}

/** Part of `put` and `settle`: a report is due from now on, once for each delivery and kind. */
export function createOwe(db: Connection): (owed: Owed, now: number) => void {
  const insert = db.prepare(
    `insert into reports (delivery_id, kind, team_id, email_id, created_at) values (?, ?, ?, ?, ?)
     on conflict (delivery_id, kind) do nothing`,
  )
  return ({ deliveryId, kind, teamId, emailId }, now) =>
    void insert.run(deliveryId, kind, teamId, emailId, now)
}
