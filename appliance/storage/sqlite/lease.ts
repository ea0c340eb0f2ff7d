import type { EnvelopeDsn } from '../../mail/dsn.ts'
import type { EventData } from '../../mail/event.ts'
import { newId } from '../../mail/ids.ts'
import type { RequireTls } from '../../mail/require-tls.ts'
import { fromNotify } from '../methods/recipients.ts'
import type { LeaseArgs, LeasedDelivery, NewEmail } from '../storage.ts'
import { createChooser } from './choose.ts'
import type { Connection } from './connection.ts'

interface Row {
  id: string
  team_id: string
  email_id: string
  lane: string
  attempts: number
  created_at: number
  expires_at: number
  recipient: string
  domain_id: string
  return_path: string
  scheduled_at: number | null
  sent_at: number | null
  via: NewEmail['via']
  report_to: string | null
  ret: EnvelopeDsn['ret']
  envid: string | null
  require_tls: RequireTls
  notify: string | null
  orcpt: string | null
}

/** `Storage.lease`, hot: plain statements, prepared once. */
export function createLease(db: Connection): (args: LeaseArgs, now: number) => LeasedDelivery[] {
  const choose = createChooser(db)
  const read = db.prepare<[string], Row>(
    `select d.id, d.team_id, d.email_id, d.lane, d.attempts, d.created_at, d.expires_at, r.recipient, e.domain_id,
       e.return_path, e.scheduled_at, e.sent_at, e.via, e.report_to, e.ret, e.envid, e.require_tls, r.notify, r.orcpt
     from deliveries d join recipients r on r.id = d.id join emails e on e.id = d.email_id
     where d.id = ?`,
  )
  const mark = db.prepare(
    'update deliveries set lease_owner = ?, lease_until = ?, attempts = ?, due_at = ? where id = ?',
  )
  const markSent = db.prepare(
    `update emails set sent_at = ?, last_event = case when last_event in ('queued', 'scheduled') then 'sent' else last_event end
     where id = ?`,
  )
  const insertEvent = db.prepare(
    `insert into events (id, team_id, email_id, delivery_id, type, created_at, data)
     values (?, ?, ?, null, 'email.sent', ?, ?)`,
  )

  const announce = (row: Row, now: number): void => {
    const data: EventData = {}
    markSent.run(now, row.email_id)
    // Nobody sent a report, so nobody hears of its way.
    if (row.via === 'report') return
    insertEvent.run(newId(now), row.team_id, row.email_id, now, JSON.stringify(data))
  }

  return (args, now) => {
    const { owner, leaseUntil, retryDelays } = args
    const lastDelay = retryDelays.at(-1)
    if (lastDelay === undefined) throw new RangeError('lease needs at least one retry delay.')
    const leased: LeasedDelivery[] = []
    for (const id of choose(args, now)) {
      const row = read.get(id)
      if (!row) throw new Error(`Delivery ${id} waits, but its recipient or email is missing.`)
      const attempts = row.attempts + 1
      mark.run(owner, leaseUntil, attempts, now + (retryDelays[attempts - 1] ?? lastDelay), id)
      if (row.sent_at === null) announce(row, now)
      leased.push(toLeased(row, attempts, leaseUntil))
    }
    return leased
  }
}

function toLeased(row: Row, attempts: number, leaseUntil: number): LeasedDelivery {
  return {
    id: row.id,
    teamId: row.team_id,
    emailId: row.email_id,
    domainId: row.domain_id,
    recipient: row.recipient,
    lane: row.lane,
    attempts,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    leaseUntil,
    returnPath: row.return_path,
    scheduledAt: row.scheduled_at,
    reportTo: row.report_to,
    dsn: { ret: row.ret, envid: row.envid, notify: fromNotify(row.notify), orcpt: row.orcpt },
    requireTls: row.require_tls,
  }
}
