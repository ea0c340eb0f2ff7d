import type { EnvelopeDsn } from '../../mail/dsn.ts'
import { madeAt, newId } from '../../mail/ids.ts'
import type { RequireTls } from '../../mail/require-tls.ts'
import { fromNotify } from '../methods/recipients.ts'
import type { LeaseArgs, LeasedDelivery, NewEmail } from '../storage.ts'
import { createChooser } from './choose.ts'
import type { Connection } from './connection.ts'
import { createRecordEvent } from './record-event.ts'
import { createWithhold } from './withhold.ts'

interface Row {
  id: string
  team_id: string
  email_id: string
  pool: string
  provider: string
  stream: LeasedDelivery['stream']
  domain: string
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
  due_at: number
  touched_by: string | null
  pool_before: string | null
}

/** `Storage.lease`, hot: plain statements, prepared once. */
export function createLease(db: Connection): (args: LeaseArgs, now: number) => LeasedDelivery[] {
  const choose = createChooser(db)
  // The parameter stands in an expression for the reason that lines.ts gives.
  const read = db.prepare<[string], Row>(
    `select d.id, d.team_id, d.email_id, d.pool, d.provider, d.stream, d.domain, d.attempts, d.created_at, d.expires_at, r.recipient, e.domain_id,
       e.return_path, e.scheduled_at, e.sent_at, e.via, e.report_to, e.ret, e.envid, e.require_tls, r.notify, r.orcpt,
       d.due_at, d.touched_by, d.pool_before
     from deliveries d join recipients r on r.id = d.id join emails e on e.id = d.email_id
     where d.id = ? || ''`,
  )
  const mark = db.prepare(
    'update deliveries set lease_owner = ?, lease_until = ?, attempts = ?, due_at = ? where id = ?',
  )
  const markSent = db.prepare(
    `update emails set sent_at = ?, last_event = case when last_event in ('queued', 'scheduled') then 'sent' else last_event end
     where id = ?`,
  )
  const recordEvent = createRecordEvent(db)
  const countWaiting = db
    .prepare<[string], number>('select count(*) from deliveries where email_id = ?')
    .pluck()

  const announce = (row: Row, now: number): void => {
    markSent.run(now, row.email_id)
    // Nobody sent a report, so nobody hears of its way.
    if (row.via === 'report') return
    const { team_id: teamId, email_id: emailId, domain_id: domainId } = row
    const about = { id: newId(now), teamId, emailId, deliveryId: null, createdAt: now }
    // One event, whoever it goes to; in the metrics every recipient counts, so that rates can be made of them.
    const amount = countWaiting.get(emailId) ?? 1
    recordEvent({ ...about, type: 'email.sent', data: {} }, { domainId, provider: '', amount })
  }

  const withhold = createWithhold(db)

  return (args, now) => {
    const { owner, leaseUntil, retryDelays } = args
    const lastDelay = retryDelays.at(-1)
    if (lastDelay === undefined) throw new RangeError('lease needs at least one retry delay.')
    const leased: LeasedDelivery[] = []
    const announced = new Set<string>()
    const rows = choose(args, now).map((id) => {
      const row = read.get(id)
      if (!row) throw new Error(`Delivery ${id} waits, but its recipient or email is missing.`)
      return row
    })
    // All of them before the first is announced, which counts whom the email goes to.
    for (const row of rows.filter((one) => !withhold(one, now))) {
      const { id } = row
      const attempts = row.attempts + 1
      mark.run(owner, leaseUntil, attempts, now + (retryDelays[attempts - 1] ?? lastDelay), id)
      // The rows were read before: of several recipients of one email the first announces it.
      if (row.sent_at === null && !announced.has(row.email_id)) announce(row, now)
      announced.add(row.email_id)
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
    domain: row.domain,
    pool: row.pool,
    provider: row.provider,
    stream: row.stream,
    attempts,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    leaseUntil,
    returnPath: row.return_path,
    scheduledAt: row.scheduled_at,
    reportTo: row.report_to,
    dsn: { ret: row.ret, envid: row.envid, notify: fromNotify(row.notify), orcpt: row.orcpt },
    requireTls: row.require_tls,
    dueAt: row.due_at,
    touchedAt: row.touched_by === null || row.pool_before !== null ? null : madeAt(row.touched_by),
  }
}
