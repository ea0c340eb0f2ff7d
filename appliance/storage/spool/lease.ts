/** Leases due deliveries to the process that attempts them. */
import { toLastEvent } from '../../mail/event.ts'
import { createSuppressionCause } from '../../mail/suppression.ts'
import type { Db } from '../schema.ts'
import { type EnvelopeDsn, type RecipientDsn, isReportWanted } from '../../mail/dsn.ts'
import { getIdTime, newId } from '../../mail/ids.ts'
import { getQueueDestination, includesPool, type PoolFilter, type Stream } from '../../mail/queue.ts'
import { STREAMS } from '../../mail/source.ts'
import { createEventRecorder } from '../events.ts'
import { findFirstDueTime, HEAD_ROWS, selectHead } from '../queue/queue.ts'
import { FINAL_QUEUE_COLUMNS_SQL, parseNotify } from '../deliveries.ts'
import { createDueReportRecorder } from '../reports.ts'
import type { Connection } from '../connection.ts'
import { createSuppressionLookup } from '../suppressions.ts'
import { createTopicOptOutChecker } from '../audience/topic-opt-outs.ts'
import { createDeliveryChooser, type LeaseArgs } from './choose.ts'
import { createBroadcastHold } from './enqueue.ts'
import { DueQueueReader } from './due-queues.ts'
import { type UnattemptedResult, toOptedOutResult, toSuppressedResult } from './put.ts'
import type { SubmissionChannel } from '../values.ts'
import type { RequireTls } from '../../mail/tls-policy.ts'

/** A delivery that the caller owns until `leaseUntil`. */
export interface LeasedDelivery {
  id: string
  teamId: string
  emailId: string
  domainId: string
  recipient: string
  /** The recipient's domain in A-labels, lower case. */
  domain: string
  /**
   * The queue of the delivery. The provider is `toProviderPlaceholder(domain)` if no attempt has looked up the domain
   * yet.
   */
  pool: string
  provider: string
  stream: Stream
  /** Number of attempts, including the current one. */
  attempts: number
  createdAt: number
  expiresAt: number
  leaseUntil: number
  /** The envelope sender; empty for a report. */
  returnPath: string
  /** The time that the sender chose, used for the Date field; null if there is none. */
  scheduledAt: number | null
  /** Address for reports; null if there is none. */
  reportTo: string | null
  /** The sender's DSN parameters, for the message and for this recipient. */
  dsn: EnvelopeDsn & RecipientDsn
  /** The sender's TLS requirement (RFC 8689). */
  requireTls: RequireTls
  /** When the delivery was due before this lease set the time of the next attempt. */
  dueAt: number
  /** When an operator last held or released the delivery; null if never, or if it was also rerouted. */
  touchedAt: number | null
}

/**
 * Returns when the next unheld, unleased delivery of some pools is due, except for closed destinations; undefined if none
 * is queued. If closed destinations hide too many queues to search, returns a time in the near future to check again.
 * Usually, one of the first rows is the result. If closed destinations fill the head of the queue, this takes an index step
 * for each other queue and one for each closed destination, regardless of their length.
 */
export async function nextDue(
  db: Db,
  { pools, ...args }: { closed: string[]; pools?: PoolFilter | undefined },
  now: number,
): Promise<number | undefined> {
  if (pools?.only === true && pools.pools.length === 0) return undefined
  const closed = new Set(args.closed)
  const isFiltered = closed.size > 0 || pools !== undefined
  const most = isFiltered ? HEAD_ROWS : 1
  let next: number | undefined
  let hidden = false
  for (const stream of STREAMS) {
    const head = await selectHead(db, stream, most, now)
    const open = head.find(
      ({ queue }) => includesPool(pools, queue) && !closed.has(getQueueDestination(queue)),
    )
    if (open) next = Math.min(next ?? Infinity, open.due_at)
    else if (isFiltered && head.length === most) hidden = true
  }
  if (!hidden) return next
  const behind = await findFirstDueTime(db, { closed, pools }, now)
  return next === undefined ? behind : Math.min(next, behind ?? Infinity)
}

interface Row {
  row: number
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
  last_event: string
  via: SubmissionChannel
  report_to: string | null
  ret: EnvelopeDsn['ret']
  envid: string | null
  require_tls: RequireTls
  topic_id: string | null
  broadcast_id: string | null
  contact_id: string | null
  notify: string | null
  orcpt: string | null
  due_at: number
  touched_by: string | null
  pool_before: string | null
}

/**
 * Leases due deliveries. Destinations take turns, starting with the longest wait. Within a destination, transactional mail
 * goes first, but broadcast mail gets one of ten slots when both are due. In each stream, teams get equal shares, counted
 * in deliveries, and a team's oldest deliveries go first. The recipients of one email in one domain are returned together.
 * If messages have many recipients, may lease less than there is capacity for, so call it until nothing is returned. Counts
 * the attempt and sets the time of the next one before any connection. A delivery whose address was suppressed meanwhile
 * ends with the state and event `suppressed`. One whose recipient opted out of the email's topic ends with `failed`.
 * Records `email.sent` for an email's first attempt. Performance-critical: uses plain statements, prepared once; their
 * number doesn't depend on the number of deliveries.
 */
export function createLeaseFunction(db: Connection): (args: LeaseArgs, now: number) => LeasedDelivery[] {
  const choose = createDeliveryChooser(new DueQueueReader(db))
  const read = db.prepare<[string], Row>(
    `select d.rowid as row, d.id, d.team_id, d.email_id, d.pool, d.provider, d.stream, d.domain, d.attempts, d.created_at, d.expires_at, d.recipient, e.domain_id,
       e.return_path, e.scheduled_at, e.sent_at, e.last_event, e.via, e.report_to, e.ret, e.envid, e.require_tls, e.topic_id, e.broadcast_id, e.contact_id, d.notify, d.orcpt,
       d.due_at, d.touched_by, d.pool_before
     from deliveries d cross join emails e
     where d.rowid in (select cast(value as bigint) from json_each(?)) and e.id = d.email_id`,
  )
  // The last delay repeats. The casts are needed because numbers are bound as reals, which can't index a list.
  const claim = db.prepare<{
    owner: string
    leaseUntil: number
    now: number
    delays: string
    last: number
    rows: string
  }>(
    `update deliveries set lease_owner = @owner, lease_until = @leaseUntil, attempts = attempts + 1,
       due_at = @now + cast(cast(@delays as text) ->> cast(case when attempts < @last then attempts else @last end as integer) as bigint)
     where rowid in (select cast(value as bigint) from json_each(@rows))`,
  )
  const announce = createAnnounce(db)
  const gate = createBroadcastHold(db)
  const withhold = createWithhold(db)

  return (args, now) => {
    const { owner, leaseUntil, retryDelays } = args
    if (retryDelays.length === 0) throw new RangeError('lease needs at least one retry delay.')
    const chosen = choose(args, now)
    if (chosen.length === 0) return []
    const found = new Map(read.all(JSON.stringify(chosen)).map((row) => [row.row, row]))
    const due = chosen.map((row) => {
      const one = found.get(row)
      if (!one) throw new Error(`Delivery ${row} waits, but its email is missing.`)
      return one
    })
    const rows = withhold(gate(due, now), now)
    const [delays, last] = [JSON.stringify(retryDelays), retryDelays.length - 1]
    claim.run({ owner, leaseUntil, now, delays, last, rows: JSON.stringify(rows.map(({ row }) => row)) })
    announce(rows, now)
    return rows.map((row) => toLeased(row, row.attempts + 1, leaseUntil))
  }
}

/** Part of `lease`: records the first attempt of emails, and its event, which `unlease` doesn't undo. */
function createAnnounce(db: Connection): (rows: readonly Row[], now: number) => void {
  const markSent = db.prepare<[number, string], { id: string; waiting: number }>(
    `update emails set sent_at = coalesce(sent_at, ?), last_event = case when last_event in ('queued', 'scheduled') then 'sent' else last_event end
     where id in (select value from json_each(?))
     returning id, (select count(*) from deliveries where email_id = emails.id and expires_at is not null) as waiting`,
  )
  const recordEvents = createEventRecorder(db)

  return (rows, now) => {
    // Record the first attempt only once per email, for the first of its recipients.
    const first = new Map<string, Row>()
    for (const row of rows)
      if ((row.sent_at === null || row.last_event === 'queued') && !first.has(row.email_id))
        first.set(row.email_id, row)
    if (first.size === 0) return
    const waiting = new Map(
      markSent.all(now, JSON.stringify([...first.keys()])).map((row) => [row.id, row.waiting]),
    )
    // Reports have no events, because the server created them itself.
    const told = [...first.values()].filter(({ via, sent_at: sentAt }) => via !== 'report' && sentAt === null)
    recordEvents(
      told.map(({ team_id: teamId, email_id: emailId, domain_id: domainId, broadcast_id: broadcastId }) => ({
        event: {
          id: newId(now),
          teamId,
          emailId,
          deliveryId: null,
          type: 'email.sent',
          createdAt: now,
          data: {},
        },
        // Each email has one event. In the metrics, every recipient counts, so that rates can be computed.
        under: { domainId, provider: '', broadcastId, amount: waiting.get(emailId) ?? 1 },
      })),
    )
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
    dsn: { ret: row.ret, envid: row.envid, notify: parseNotify(row.notify), orcpt: row.orcpt },
    requireTls: row.require_tls,
    dueAt: row.due_at,
    touchedAt: row.touched_by === null || row.pool_before !== null ? null : getIdTime(row.touched_by),
  }
}

/**
 * Part of `lease`: before any connection, ends deliveries whose address was suppressed while they were queued, or whose
 * recipient opted out of the topic. Returns the others. Reports are sent even to suppressed addresses, because their
 * recipients requested them.
 */
function createWithhold(db: Connection): (rows: readonly Row[], now: number) => Row[] {
  const listed = createSuppressionLookup(db)
  const findOptOuts = createTopicOptOutChecker(db)
  const finish = db.prepare(
    `update deliveries set state = ?, cause = ?, updated_at = ?, ${FINAL_QUEUE_COLUMNS_SQL} where email_id = ? and id = ?`,
  )
  // As in `put`, an email isn't final while other recipients are queued.
  const updateEmail = db.prepare(
    'update emails set last_event = ? where id = ? and not exists (select 1 from deliveries where email_id = emails.id and expires_at is not null)',
  )
  const recordEvents = createEventRecorder(db)
  const owe = createDueReportRecorder(db)

  const end = (row: Row, { state, type, cause, data: more }: UnattemptedResult, now: number): void => {
    const { id, team_id: teamId, email_id: emailId, provider, recipient } = row
    finish.run(state, JSON.stringify(cause), now, emailId, id)
    const data = { recipient, cause, ...more }
    const event = { id: newId(now), teamId, emailId, deliveryId: id, type, createdAt: now, data }
    recordEvents([{ event, under: { domainId: row.domain_id, provider, broadcastId: row.broadcast_id } }])
    updateEmail.run(toLastEvent(type), emailId)
    if (row.report_to !== null && isReportWanted(parseNotify(row.notify), 'failed'))
      owe({ deliveryId: id, kind: 'failed', teamId, emailId }, now)
  }

  const optedOut = (rows: readonly Row[]): Map<string, UnattemptedResult> => {
    const about = rows.flatMap((row) => {
      const { id, team_id: teamId, topic_id: topicId, recipient: address, contact_id: contactId } = row
      return topicId === null && row.broadcast_id === null
        ? []
        : [{ id, teamId, topicId, address, contactId }]
    })
    const out = findOptOuts(about)
    return new Map(about.flatMap(({ id }, at) => (out[at] ? [[id, toOptedOutResult(out[at].cause)]] : [])))
  }

  return (rows, now) => {
    const origins = listed(rows.map((row) => ({ teamId: row.team_id, address: row.recipient })))
    const out = optedOut(rows)
    return rows.filter((row, at) => {
      const origin = row.via === 'report' ? undefined : origins[at]
      const how =
        origin === undefined ? out.get(row.id) : toSuppressedResult(createSuppressionCause({ origin }))
      if (how) end(row, how, now)
      return how === undefined
    })
  }
}

export const methods = {
  reads: { nextDue },
  prepared: { lease: createLeaseFunction },
}
