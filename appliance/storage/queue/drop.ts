import type { BounceCategory, BounceSubtype } from '../../mail/bounce.ts'
import { isReportWanted } from '../../mail/dsn.ts'
import { type EventData, toLastEvent } from '../../mail/event.ts'
import { newId } from '../../mail/ids.ts'
import { formatReply } from '../../mail/reply.ts'
import type { Cause } from '../../mail/verdict.ts'
import { createEventRecorder } from '../events.ts'
import { finalQueueColumns, parseNotify, isQueued } from '../deliveries.ts'
import { createDueReportRecorder } from '../reports.ts'
import type { Db } from '../schema.ts'
import { getPrepared } from '../connection.ts'
import { findNextMatchingRange, type Step, type StepArgs, type QueueFilter } from './matching.ts'
import type { SubmissionChannel } from '../values.ts'
import type { QueueAction } from '../../mail/queue.ts'

/** Number of deliveries per round of statements. Each event takes eight parameters, and the engine allows 32,766. */
const ROUND = 500

/** How a delivery ends after an operator drops or expires it. */
interface Ending {
  state: 'failed' | 'expired'
  type: 'email.failed' | 'email.bounced'
  /** @param last the cause of the last attempt; null before the first attempt */
  cause: (last: Cause | null) => Cause
  data: (cause: Cause) => EventData
}

const reason = 'dropped by an operator'

const erased = "the recipient's data was erased"

const DROPPED: Ending = {
  state: 'failed',
  type: 'email.failed',
  cause: () => ({ phase: 'queue', host: null, ip: null, reply: null, by: 'operator', note: reason }),
  data: () => ({ failed: { reason } }),
}

/** Keeps the cause of the last attempt, as when the retry period ends. */
const EXPIRED: Ending = {
  state: 'expired',
  type: 'email.bounced',
  cause: (last) =>
    last
      ? { ...last, by: 'operator', note: `Expired by an operator. Last attempt: ${last.note}` }
      : {
          phase: 'queue',
          host: null,
          ip: null,
          reply: null,
          by: 'operator',
          note: 'Given up by an operator before any attempt.',
        },
  data: ({ reply, status, category, note }) => {
    // A diagnostic code that no server sent has a private type (RFC 3464 §2.3.6).
    const words = reply
      ? `smtp; ${formatReply(reply)}`
      : `x-posthaste; ${[status, note].filter(Boolean).join(' ')}`
    const subType = category === undefined ? 'General' : (SUB_TYPE[category] ?? 'General')
    const bounce = { type: 'Transient' as const, subType, message: note, diagnosticCode: [words] }
    return { bounce: category === undefined ? bounce : { ...bounce, category } }
  },
}

const SUB_TYPE: Partial<Record<BounceCategory, BounceSubtype>> = {
  'mailbox-full': 'MailboxFull',
  size: 'MessageTooLarge',
  content: 'ContentRejected',
}

/** Drops waiting or held deliveries: state `failed`, event `email.failed`. Excludes deliveries in flight. */
export async function dropQueue(db: Db, args: QueueFilter & StepArgs, now: number): Promise<Step> {
  return endStep(db, 'drop', DROPPED, args, now)
}

/** Expires deliveries as if their retry period had ended: state `expired`, event `email.bounced`. */
async function expireQueue(db: Db, args: QueueFilter & StepArgs, now: number): Promise<Step> {
  return endStep(db, 'expire', EXPIRED, args, now)
}

const ERASED: Ending = {
  state: 'failed',
  type: 'email.failed',
  cause: () => ({ phase: 'queue', host: null, ip: null, reply: null, by: 'erasure', note: erased }),
  data: () => ({ failed: { reason: erased } }),
}

/**
 * Drops deliveries to a recipient who is being erased. Records the event under the pseudonym and creates no reports,
 * because they would contain the address. The rows keep the address until their email is erased, because the email is
 * found by it. Returns the number of queued deliveries.
 */
export async function dropErasedDeliveries(
  db: Db,
  ids: string[],
  pseudonym: string,
  now: number,
): Promise<number> {
  if (ids.length === 0) return 0
  const rows = await db
    .selectFrom('deliveries')
    .innerJoin('emails as e', 'e.id', 'deliveries.email_id')
    .select([
      'deliveries.id',
      'deliveries.team_id',
      'email_id',
      'e.via',
      'e.domain_id',
      'e.broadcast_id',
      'provider',
    ])
    .where('deliveries.id', 'in', ids)
    .where(isQueued)
    .orderBy('deliveries.id')
    .execute()
  const unnamed = { recipient: pseudonym, notify: null, cause: null, report_to: null }
  await giveUp(
    db,
    ERASED,
    rows.map((row) => ({ ...row, ...unnamed })),
    now,
  )
  return rows.length
}

async function endStep(
  db: Db,
  action: QueueAction,
  ending: Ending,
  args: QueueFilter & StepArgs,
  now: number,
): Promise<Step> {
  const portion = await findNextMatchingRange(db, { ...args, touch: { action } }, args, now)
  if (!portion) return { count: 0, next: null }
  const rows = await db
    .selectFrom((query) =>
      query
        .selectFrom('deliveries')
        .select(['id', 'team_id', 'email_id', 'recipient', 'notify', 'cause', 'provider'])
        .where(portion.where)
        .as('d'),
    )
    .innerJoin('emails as e', 'e.id', 'd.email_id')
    .select(['d.id', 'd.team_id', 'd.email_id', 'd.recipient', 'd.notify', 'd.cause', 'd.provider'])
    .select(['e.report_to', 'e.via', 'e.domain_id', 'e.broadcast_id'])
    .orderBy('d.id')
    .execute()
  for (let at = 0; at < rows.length; at += ROUND) await giveUp(db, ending, rows.slice(at, at + ROUND), now)
  return { count: rows.length, next: portion.next }
}

interface Given {
  id: string
  team_id: string
  email_id: string
  recipient: string
  notify: string | null
  cause: string | null
  report_to: string | null
  via: SubmissionChannel
  domain_id: string
  broadcast_id: string | null
  provider: string
}

async function giveUp(db: Db, ending: Ending, given: Given[], now: number): Promise<void> {
  const { state, type } = ending
  const rows = given.map((row) => ({
    ...row,
    cause: ending.cause(row.cause === null ? null : (JSON.parse(row.cause) as Cause)),
  }))
  // Write deliveries with the same cause together: usually these are all, or all of one host.
  for (const [cause, same] of Map.groupBy(rows, (row) => JSON.stringify(row.cause)))
    await db
      .updateTable('deliveries')
      .set({ ...finalQueueColumns, state, cause, updated_at: now })
      .where(
        'id',
        'in',
        same.map(({ id }) => id),
      )
      .where(isQueued)
      .execute()
  // Reports have no events, because the server created them itself.
  const told = rows.filter(({ via }) => via !== 'report')
  getPrepared(
    db,
    createEventRecorder,
  )(
    told.map(({ id: deliveryId, team_id: teamId, email_id: emailId, recipient, cause, ...row }) => {
      const data: EventData = { recipient, cause, ...ending.data(cause) }
      const event = { id: newId(now), teamId, emailId, deliveryId, type, createdAt: now, data }
      return {
        event,
        under: { domainId: row.domain_id, provider: row.provider, broadcastId: row.broadcast_id },
      }
    }),
  )
  oweReports(db, rows, now)
  await db
    .updateTable('emails')
    .set({ last_event: toLastEvent(type) })
    .where('id', 'in', [...new Set(rows.map((row) => row.email_id))])
    .execute()
}

/** Marks reports to the senders of dropped deliveries as due. */
function oweReports(db: Db, rows: Omit<Given, 'cause'>[], now: number): void {
  const owe = getPrepared(db, createDueReportRecorder)
  for (const { id, team_id: teamId, email_id: emailId, report_to: reportTo, notify } of rows)
    if (reportTo !== null && isReportWanted(parseNotify(notify), 'failed'))
      owe({ deliveryId: id, kind: 'failed', teamId, emailId }, now)
}

/** The methods for dropping and expiring mail. */
export const methods = {
  writes: { dropQueue, expireQueue },
}
