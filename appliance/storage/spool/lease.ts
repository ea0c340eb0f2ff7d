/** Leasing: due deliveries are given to the process that attempts them. */
import type { Db } from '../schema.ts'
import { type EnvelopeDsn, type RecipientDsn, reportWanted } from '../../mail/dsn.ts'
import { lastEventOf } from '../../mail/event.ts'
import { madeAt, newId } from '../../mail/ids.ts'
import { destinationOfQueue, type Stream } from '../../mail/queue.ts'
import type { RequireTls } from '../../mail/require-tls.ts'
import { STREAMS } from '../../mail/source.ts'
import { suppressedCause, suppressedData } from '../../mail/suppression.ts'
import { createRecordEvent } from '../events.ts'
import { firstOpen, HEAD, headOf } from '../queue/queue.ts'
import { fromNotify } from '../recipients.ts'
import { createOwe } from '../reports.ts'
import type { Connection } from '../sqlite/connection.ts'
import { createListed } from '../suppressions.ts'
import { createChooser } from './choose.ts'
import type { NewEmail } from './put.ts'

/** A delivery that the caller owns until `leaseUntil`. */
export interface LeasedDelivery {
  id: string
  teamId: string
  emailId: string
  domainId: string
  recipient: string
  /** The recipient's domain in A-labels, lower case. */
  domain: string
  /** Where it waited: `unplaced(domain)` when no attempt has looked the domain up yet. */
  pool: string
  provider: string
  stream: Stream
  /** Attempts including the one that begins now. */
  attempts: number
  createdAt: number
  expiresAt: number
  leaseUntil: number
  /** Empty for a report. */
  returnPath: string
  /** The time that its sender chose, or null: what its Date field must say. */
  scheduledAt: number | null
  /** Who is sent reports; null: nobody. */
  reportTo: string | null
  /** What the sender said of reports, of the message and of this recipient. */
  dsn: EnvelopeDsn & RecipientDsn
  /** What the sender said of encryption on the way (RFC 8689). */
  requireTls: RequireTls
  /** When it was due, before this lease set the next time. */
  dueAt: number
  /** When an operator held or released it last; null: never, or it was re-routed as well. */
  touchedAt: number | null
}

export interface LeaseArgs {
  /** Names the process start that leases; `settle` must show the same. */
  owner: string
  /** At most this many messages: the recipients of one email in one domain and queue share one. */
  limit: number
  /** Messages that a destination (`destinationOf`) may take now; 0 closes it. */
  room: Record<string, number>
  /** The same for every destination that `room` does not name. */
  roomElse: number
  /** Recipients of one message at most, `MOST_RECIPIENTS` by default. More of them are another message. */
  recipients?: number | undefined
  /** When the lease ends, should the owner vanish without a word (Unix milliseconds). */
  leaseUntil: number
  /**
   * Milliseconds to the next attempt after the first, second, … one; the last entry repeats. Set before anyone dials,
   * so that a process that dies in every attempt still keeps to the schedule.
   */
  retryDelays: readonly number[]
}

/**
 * When the next unheld, unleased delivery is due, but for destinations that are closed; undefined when none waits. Where
 * closed destinations hide too many queues to ask them all, it is a time soon: to look again then.
 * Usually one of the first rows answers. Where closed destinations fill the head of the queue,
 * each queue of the others is asked for its first row: a step through the index for each queue, and one for each closed
 * destination, whatever waits in them.
 */
export async function nextDue(db: Db, args: { closed: string[] }, now: number): Promise<number | undefined> {
  const closed = new Set(args.closed)
  const most = closed.size === 0 ? 1 : HEAD
  let next: number | undefined
  let hidden = false
  for (const stream of STREAMS) {
    const head = await headOf(db, stream, most, now)
    const open = head.find((row) => !closed.has(destinationOfQueue(row.queue)))
    if (open) next = Math.min(next ?? Infinity, open.due_at)
    else if (closed.size > 0 && head.length === most) hidden = true
  }
  if (!hidden) return next
  const behind = await firstOpen(db, closed, now)
  return next === undefined ? behind : Math.min(next, behind ?? Infinity)
}

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

/**
 * Takes due deliveries. Destinations take turns, the one that waits longest first. Within a destination transactional
 * mail goes first, but of ten places broadcast mail gets one where both are due; in each stream the teams share equally,
 * counted in deliveries, oldest first within a team. The recipients of one email in one domain come together, next to each
 * other. May take less than there is room for when messages have many recipients: ask until nothing comes.
 * Counts the attempt and sets the next time before anyone dials. A delivery whose address is on the suppression list by now ends here instead:
 * state and event `suppressed`. Records `email.sent` for an email that is tried for the first time.
 * hot: plain statements, prepared once.
 */
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

/** A delivery whose turn it is. */
export interface Turn {
  id: string
  team_id: string
  email_id: string
  domain_id: string
  pool: string
  provider: string
  attempts: number
  recipient: string
  via: NewEmail['via']
  report_to: string | null
  notify: string | null
}

/**
 * Part of `lease`: ends a delivery whose address came onto the list while it waited, before anybody is dialled. False where it did not. Reports
 * of ours go out all the same: their reader asked for them.
 */
function createWithhold(db: Connection): (turn: Turn, now: number) => boolean {
  const listed = createListed(db)
  const finish = db.prepare('delete from deliveries where id = ?')
  const updateRecipient = db.prepare(
    `update recipients set state = 'suppressed', attempts = ?, cause = ?, pool = ?, provider = ?, updated_at = ? where id = ?`,
  )
  // As in `put`: what goes to others still is not done.
  const updateEmail = db.prepare(
    'update emails set last_event = ? where id = ? and not exists (select 1 from deliveries where email_id = emails.id)',
  )
  const recordEvent = createRecordEvent(db)
  const owe = createOwe(db)

  return (turn, now) => {
    if (turn.via === 'report') return false
    const { id, team_id: teamId, email_id: emailId, domain_id: domainId, provider, recipient } = turn
    const origin = listed(teamId, recipient)
    if (origin === undefined) return false
    const cause = suppressedCause({ origin })
    finish.run(id)
    updateRecipient.run(turn.attempts, JSON.stringify(cause), turn.pool, provider, now, id)
    const type = 'email.suppressed'
    const data = { recipient, cause, suppressed: suppressedData(cause) }
    const about = { id: newId(now), teamId, emailId, deliveryId: id, createdAt: now }
    recordEvent({ ...about, type, data }, { domainId, provider })
    updateEmail.run(lastEventOf(type), emailId)
    if (turn.report_to !== null && reportWanted(fromNotify(turn.notify), 'failed'))
      owe({ deliveryId: id, kind: 'failed', teamId, emailId }, now)
    return true
  }
}

/** The methods of this noun (nouns.ts). */
export const methods = {
  reads: { nextDue },
  prepared: { lease: createLease },
}
