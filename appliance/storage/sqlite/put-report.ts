import type { ReportRef } from '../storage.ts'
import type { Connection } from './connection.ts'
import { createInsertEmail, type StoredEmail } from './put.ts'

/** Arguments of `putReport` as they cross to the writer. */
export interface StoreReportArgs extends ReportRef {
  email: StoredEmail
}

/** `Storage.putReport`: what makes a report exactly one, whoever else is making it at this moment. */
export function createPutReport(db: Connection): (args: StoreReportArgs, now: number) => boolean {
  const insert = createInsertEmail(db)
  const isDue = db.prepare<[string, string]>(
    'select 1 from reports where delivery_id = ? and kind = ? and done_at is null',
  )
  const done = db.prepare('update reports set done_at = ?, report_id = ? where delivery_id = ? and kind = ?')
  return ({ email, kind, deliveryIds }, now) => {
    if (!deliveryIds.every((id) => isDue.get(id, kind))) return false
    insert(email, now)
    for (const id of deliveryIds) done.run(now, email.id, id, kind)
    return true
  }
}
