/** The queue of webhook deliveries, from the event to the last attempt: plain statements, prepared once. */
import type { EventCursor } from '../event-cursor.ts'
import type { Connection } from '../connection.ts'
import type { NewWebhookDelivery, WebhookAttempt } from './deliveries.ts'

/** A delivery to attempt now, with the data for the request. */
export interface LeasedWebhookDelivery {
  id: string
  webhookId: string
  teamId: string
  emailId: string | null
  type: string
  payload: string
  /** The number of this attempt, counted from 1. `settle` requires it. */
  attempt: number
  endpoint: string
  secret: string
  oldSecret: { secret: string; until: number } | null
}

export interface WebhookLeaseArgs {
  /** Maximum number of deliveries: in total, to one endpoint, and to a failing endpoint. */
  limit: number
  each: number
  failing: number
  /** Number of consecutive failures from which on an endpoint counts as failing. */
  failures: number
  /** Number of requests in flight, by endpoint. */
  inFlight: Record<string, number>
  /**
   * Milliseconds after which an attempt without a result is repeated, by its number from 1. The last entry repeats.
   */
  pauses: number[]
}

export interface WebhookSettleArgs {
  /** Number of the leased attempt. */
  attemptNumber: number
  attempt: WebhookAttempt
  /** The result of the attempt. After a failure, `dueAt` is null if there is no further attempt. */
  outcome: { success: true } | { success: false; dueAt: number | null }
  /**
   * When to disable an endpoint: if all its requests since before `failingBefore` failed, and there were at least
   * `leastFailures` of them. `reason` is stored.
   */
  disable: { failingBefore: number; leastFailures: number; reason: string }
}

/** Minimum time between successes that are stored, in milliseconds. It saves writes for busy endpoints. */
const SUCCESS_STEP = 60_000

const INSERT = `insert into webhook_deliveries
  (id, webhook_id, team_id, event_id, email_id, type, payload, created_at, status, attempts, due_at, settled_at)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

const about = (one: NewWebhookDelivery): (string | number | null)[] => [
  one.id,
  one.webhookId,
  one.teamId,
  one.eventId,
  one.emailId,
  one.type,
  one.payload,
  one.createdAt,
]

/**
 * Stores new deliveries and moves the cursor, in one transaction. Returns false and stores nothing if the cursor isn't
 * at `from` any more.
 */
function createFanOut(
  db: Connection,
): (args: { from: EventCursor; to: EventCursor; deliveries: NewWebhookDelivery[] }, now: number) => boolean {
  const move = db.prepare(
    "update cursors set xid = ?, seq = ? where name = 'webhooks' and xid = ? and seq = ?",
  )
  const insert = db.prepare(`${INSERT} on conflict (webhook_id, event_id) do nothing`)
  return ({ from, to, deliveries }, now) => {
    if (move.run(to.xid, to.seq, from.xid, from.seq).changes === 0) return false
    for (const one of deliveries) insert.run(...about(one), 'pending', 0, now, null)
    return true
  }
}

/**
 * Makes final deliveries of events due again, and creates those that don't exist. With `onlyUndelivered`, successful
 * deliveries stay final. Doesn't change pending deliveries or those in flight. Returns the number of deliveries that
 * become due.
 */
function createReplayEvents(
  db: Connection,
): (args: { deliveries: NewWebhookDelivery[]; onlyUndelivered: boolean }, now: number) => number {
  const insert = db.prepare(`${INSERT} on conflict (webhook_id, event_id) do nothing`)
  const again = db.prepare(
    `update webhook_deliveries set status = 'pending', attempts = 0, due_at = ?, settled_at = null
     where webhook_id = ? and event_id = ? and (status = 'failed' or (status = 'success' and ?))`,
  )
  return ({ deliveries, onlyUndelivered }, now) =>
    deliveries.reduce((sum, one) => {
      const added = insert.run(...about(one), 'pending', 0, now, null).changes
      return sum + (added || again.run(now, one.webhookId, one.eventId, onlyUndelivered ? 0 : 1).changes)
    }, 0)
}

interface Lane {
  id: string
  endpoint: string
  secret: string
  old_secret: string | null
  old_secret_until: number | null
  failures: number
}

interface Due {
  id: string
  team_id: string
  email_id: string | null
  type: string
  payload: string
  attempts: number
}

/**
 * Leases due deliveries of enabled webhooks, by due time for each endpoint. Stores the time of their next attempt
 * before any connection, so that a crash neither loses a delivery nor floods an endpoint. Endpoints take turns,
 * starting where the last lease ended.
 */
function createLeaseWebhooks(
  db: Connection,
): (args: WebhookLeaseArgs, now: number) => LeasedWebhookDelivery[] {
  const lanes = db.prepare<[], Lane>(
    `select id, endpoint, secret, old_secret, old_secret_until, failures from webhooks where status = 'enabled' order by id`,
  )
  const due = db.prepare<[string, number, number], Due>(
    `select id, team_id, email_id, type, payload, attempts from webhook_deliveries
     where webhook_id = ? and due_at <= ? order by due_at, id limit ?`,
  )
  const take = db.prepare(
    "update webhook_deliveries set status = 'attempting', attempts = attempts + 1, due_at = ? where id = ?",
  )
  let turn = ''
  return ({ limit, each, failing, failures, inFlight, pauses }, now) => {
    const leased: LeasedWebhookDelivery[] = []
    const all = lanes.all()
    const start = Math.max(
      0,
      all.findIndex(({ id }) => id > turn),
    )
    for (const lane of [...all.slice(start), ...all.slice(0, start)]) {
      if (leased.length >= limit) break
      const most = lane.failures >= failures ? failing : each
      const room = Math.min(most - (inFlight[lane.id] ?? 0), limit - leased.length)
      if (room <= 0) continue
      turn = lane.id
      for (const row of due.all(lane.id, now, room)) {
        const attempt = row.attempts + 1
        take.run(now + pauses[Math.min(attempt, pauses.length) - 1]!, row.id)
        leased.push(toLeased(lane, row, attempt))
      }
    }
    return leased
  }
}

const toLeased = (lane: Lane, row: Due, attempt: number): LeasedWebhookDelivery => ({
  id: row.id,
  webhookId: lane.id,
  teamId: row.team_id,
  emailId: row.email_id,
  type: row.type,
  payload: row.payload,
  attempt,
  endpoint: lane.endpoint,
  secret: lane.secret,
  oldSecret: lane.old_secret === null ? null : { secret: lane.old_secret, until: lane.old_secret_until ?? 0 },
})

function createInsertAttempt(db: Connection): (attempt: WebhookAttempt) => void {
  // If the delivery was deleted meanwhile, its attempts are deleted, too.
  const insert = db.prepare(
    `insert into webhook_attempts (id, delivery_id, webhook_id, team_id, sent_at, duration_ms, status, error, ip,
       request_headers, response_headers, response)
     select ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? where exists (select 1 from webhook_deliveries where id = ?)`,
  )
  return (attempt) => {
    const { id, deliveryId, webhookId, teamId, sentAt, durationMs, status, error, ip, response } = attempt
    const headers = [attempt.requestHeaders, attempt.responseHeaders].map((one) => JSON.stringify(one))
    const what = [sentAt, durationMs, status, error, ip, ...headers, response]
    insert.run(id, deliveryId, webhookId, teamId, ...what, deliveryId)
  }
}

/** Stores an attempt and its effects. `disabled`: this attempt disabled the endpoint. */
function createSettleWebhook(
  db: Connection,
): (args: WebhookSettleArgs, now: number) => { disabled: boolean } {
  const insertAttempt = createInsertAttempt(db)
  // If the delivery was replayed meanwhile, it has started over, so this attempt doesn't decide its outcome.
  const settle = db.prepare(
    `update webhook_deliveries set status = ?, due_at = ?, settled_at = ?
     where id = ? and status = 'attempting' and attempts = ?`,
  )
  const well = db.prepare(
    `update webhooks set succeeded_at = ?, failing_since = null, failures = 0
     where id = ? and (failures > 0 or succeeded_at is null or succeeded_at < ?)`,
  )
  const ill = db.prepare(
    `update webhooks set failing_since = coalesce(failing_since, ?), failures = failures + 1 where id = ?`,
  )
  const disable = db.prepare(
    `update webhooks set status = 'disabled', disabled_at = ?, disabled_reason = ?
     where id = ? and status = 'enabled' and failing_since <= ? and failures >= ?`,
  )
  return ({ attempt, attemptNumber, outcome, disable: dead }, now) => {
    const { deliveryId, webhookId } = attempt
    insertAttempt(attempt)
    const dueAt = outcome.success ? null : outcome.dueAt
    const status = outcome.success ? 'success' : dueAt === null ? 'failed' : 'pending'
    settle.run(status, dueAt, dueAt === null ? now : null, deliveryId, attemptNumber)
    if (outcome.success) {
      well.run(now, webhookId, now - SUCCESS_STEP)
      return { disabled: false }
    }
    ill.run(now, webhookId)
    const { reason, failingBefore, leastFailures } = dead
    return { disabled: disable.run(now, reason, webhookId, failingBefore, leastFailures).changes > 0 }
  }
}

/** Stores a test event as a final delivery with its attempt. */
function createKeepPing(
  db: Connection,
): (args: { delivery: NewWebhookDelivery; attempt: WebhookAttempt }, now: number) => void {
  const insert = db.prepare(INSERT)
  const insertAttempt = createInsertAttempt(db)
  return ({ delivery, attempt }, now) => {
    insert.run(...about(delivery), attempt.error === null ? 'success' : 'failed', 1, null, now)
    insertAttempt(attempt)
  }
}

export const methods = {
  prepared: {
    fanOutWebhooks: createFanOut,
    leaseWebhookDeliveries: createLeaseWebhooks,
    settleWebhookAttempt: createSettleWebhook,
    keepWebhookPing: createKeepPing,
    replayWebhookEvents: createReplayEvents,
  },
}
