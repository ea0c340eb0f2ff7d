/** Webhook deliveries for the dashboard and the API: deliveries, attempts, replays. */
import { type Selectable, sql } from 'kysely'
import { firstIdAt } from '../../mail/ids.ts'
import type { WebhookDeliveryState } from '../../mail/webhook.ts'
import { type Page, type PageArgs, readPage } from '../lists.ts'
import type { Db, WebhookAttemptsTable, WebhookDeliveriesTable } from '../schema.ts'

/** An event to send to an endpoint. */
export interface NewWebhookDelivery {
  /** `msg_…`; sorts by time. The ID is the same for every attempt. */
  id: string
  webhookId: string
  teamId: string
  /** ID of the event; null for a ping. */
  eventId: string | null
  emailId: string | null
  type: string
  /** The exact body. */
  payload: string
  /** When the event happened. */
  createdAt: number
}

export interface WebhookDelivery extends NewWebhookDelivery {
  status: WebhookDeliveryState
  /** Number of attempts since the delivery was created or last replayed. */
  attempts: number
  /** When the next attempt is due; null if the delivery is final. */
  dueAt: number | null
  /** Whether the event's email still exists; false if the event isn't about an email. */
  emailKept: boolean
  /** The last request, including those before a replay; null if there was none. */
  last: Pick<WebhookAttempt, 'sentAt' | 'durationMs' | 'status' | 'error'> | null
}

/** One request to an endpoint and its response. */
export interface WebhookAttempt {
  id: string
  deliveryId: string
  webhookId: string
  teamId: string
  sentAt: number
  durationMs: number
  /** Response status; null if there was none. */
  status: number | null
  /** Why the request failed, as a sentence; null if it succeeded. */
  error: string | null
  /** The IP address of the endpoint; null if none was reached. */
  ip: string | null
  requestHeaders: Record<string, string>
  responseHeaders: Record<string, string>
  /** The beginning of the response body. */
  response: string
}

/** Statistics of the requests to an endpoint. */
export interface WebhookRequests {
  /** Number of requests, up to the given limit. */
  count: number
  /** Number of requests with a 2xx response. */
  taken: number
  /** Median and 95th percentile of the response times, for any status (nearest rank). Null if there was no response. */
  medianMs: number | null
  p95Ms: number | null
}

/** Selects deliveries, and whether their emails still exist. */
const selectDeliveries = (db: Db) =>
  db
    .selectFrom('webhook_deliveries')
    .selectAll()
    .select(
      sql<number>`exists (select 1 from emails where emails.id = webhook_deliveries.email_id)`.as(
        'email_kept',
      ),
    )

/** Converts a row of `selectDeliveries`, without its last request; see `withLast`. */
const toDelivery = (row: Selectable<WebhookDeliveriesTable> & { email_kept: number }): WebhookDelivery => ({
  id: row.id,
  webhookId: row.webhook_id,
  teamId: row.team_id,
  eventId: row.event_id,
  emailId: row.email_id,
  type: row.type,
  payload: row.payload,
  createdAt: row.created_at,
  status: row.status,
  attempts: row.attempts,
  dueAt: row.due_at,
  emailKept: Boolean(row.email_kept),
  last: null,
})

/** Adds the last request of each delivery, in one query for all. */
async function withLast(db: Db, deliveries: WebhookDelivery[]): Promise<WebhookDelivery[]> {
  if (deliveries.length === 0) return []
  const rows = await db
    .selectFrom('webhook_attempts')
    .select(['delivery_id', 'sent_at', 'duration_ms', 'status', 'error'])
    .where('id', 'in', (newest) =>
      newest
        .selectFrom('webhook_attempts')
        .select((select) => select.fn.max('id').as('id'))
        .where(
          'delivery_id',
          'in',
          deliveries.map(({ id }) => id),
        )
        .groupBy('delivery_id'),
    )
    .execute()
  const last = new Map(
    rows.map((row) => [
      row.delivery_id,
      { sentAt: row.sent_at, durationMs: row.duration_ms, status: row.status, error: row.error },
    ]),
  )
  return deliveries.map((one) => ({ ...one, last: last.get(one.id) ?? null }))
}

/** Lists deliveries, newest first. */
async function listWebhookDeliveries(
  db: Db,
  {
    teamId,
    webhookId,
    status,
    type,
    ...page
  }: PageArgs & {
    webhookId: string
    status?: WebhookDeliveryState | undefined
    type?: string | undefined
  },
): Promise<Page<WebhookDelivery>> {
  let query = selectDeliveries(db).where('webhook_id', '=', webhookId).where('team_id', '=', teamId)
  if (status !== undefined) query = query.where('status', '=', status)
  if (type !== undefined) query = query.where('type', '=', type)
  const { items, hasMore } = await readPage(query, page, toDelivery)
  return { items: await withLast(db, items), hasMore }
}

async function getWebhookDelivery(
  db: Db,
  { teamId, webhookId, id }: { teamId: string; webhookId: string; id: string },
): Promise<WebhookDelivery | undefined> {
  const row = await selectDeliveries(db)
    .where('id', '=', id)
    .where('webhook_id', '=', webhookId)
    .where('team_id', '=', teamId)
    .executeTakeFirst()
  return row && (await withLast(db, [toDelivery(row)]))[0]
}

const toAttempt = (row: Selectable<WebhookAttemptsTable>): WebhookAttempt => ({
  id: row.id,
  deliveryId: row.delivery_id,
  webhookId: row.webhook_id,
  teamId: row.team_id,
  sentAt: row.sent_at,
  durationMs: row.duration_ms,
  status: row.status,
  error: row.error,
  ip: row.ip,
  requestHeaders: JSON.parse(row.request_headers) as Record<string, string>,
  responseHeaders: JSON.parse(row.response_headers) as Record<string, string>,
  response: row.response,
})

/** Lists the attempts of one delivery or of an endpoint, newest first. */
async function listWebhookAttempts(
  db: Db,
  {
    teamId,
    webhookId,
    deliveryId,
    ...page
  }: PageArgs & { webhookId: string; deliveryId?: string | undefined },
): Promise<Page<WebhookAttempt>> {
  let query = db
    .selectFrom('webhook_attempts')
    .selectAll()
    .where('webhook_id', '=', webhookId)
    .where('team_id', '=', teamId)
  if (deliveryId !== undefined) query = query.where('delivery_id', '=', deliveryId)
  return readPage(query, page, toAttempt)
}

/**
 * Computes statistics of the last requests since `since`, at most `most`. IDs begin with their time, so the index by
 * endpoint and ID limits the number of rows to read.
 */
export async function countWebhookRequests(
  db: Db,
  { teamId, webhookId, since, most }: { teamId: string; webhookId: string; since: number; most: number },
): Promise<WebhookRequests> {
  const rows = await db
    .selectFrom('webhook_attempts')
    .select(['duration_ms', 'status', 'error'])
    .where('webhook_id', '=', webhookId)
    .where('team_id', '=', teamId)
    .where('id', '>=', firstIdAt(since))
    .where('sent_at', '>=', since)
    .orderBy('id', 'desc')
    .limit(most)
    .execute()
  const answered = rows.filter(({ status }) => status !== null)
  const took = answered.map(({ duration_ms: ms }) => ms).sort((a, b) => a - b)
  const within = (share: number) => took[Math.ceil(share * took.length) - 1] ?? null
  return {
    count: rows.length,
    taken: rows.filter(({ error }) => error === null).length,
    medianMs: within(0.5),
    p95Ms: within(0.95),
  }
}

/**
 * Makes stored deliveries due again with the full number of attempts. Returns the IDs of missing deliveries; if there
 * are any, changes nothing.
 */
async function replayWebhookDeliveries(
  db: Db,
  { teamId, webhookId, ids: wanted }: { teamId: string; webhookId: string; ids: string[] },
  now: number,
): Promise<string[]> {
  const rows = await ids(db)
    .where('id', 'in', wanted)
    .where('webhook_id', '=', webhookId)
    .where('team_id', '=', teamId)
    .execute()
  const known = new Set(rows.map(({ id }) => id))
  const missing = wanted.filter((id) => !known.has(id))
  if (missing.length > 0) return missing
  await db
    .updateTable('webhook_deliveries')
    .set({ status: 'pending', attempts: 0, due_at: now, settled_at: null })
    .where('id', 'in', wanted)
    .execute()
  return []
}

/**
 * Deletes deliveries that became final before `before`, or that were created before that and belong to a deleted or
 * disabled endpoint. Returns their number.
 */
async function purgeWebhookDeliveries(
  db: Db,
  { before, most }: { before: number; most: number },
): Promise<number> {
  const settled = await remove(db, (of) =>
    of.where('settled_at', '<', before).orderBy('settled_at').limit(most),
  )
  if (settled === most) return settled
  const waiting = await remove(db, (of) =>
    of
      .where('due_at', 'is not', null)
      .where('created_at', '<', before)
      .where('webhook_id', 'not in', (enabled) =>
        enabled.selectFrom('webhooks').select('id').where('status', '=', 'enabled'),
      )
      .limit(most - settled),
  )
  return settled + waiting
}

const ids = (db: Db) => db.selectFrom('webhook_deliveries').select('id')

async function remove(
  db: Db,
  which: (of: ReturnType<typeof ids>) => ReturnType<typeof ids>,
): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('webhook_deliveries')
    .where('id', 'in', which(ids(db)))
    .executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}

/** Lists the first `limit` webhook deliveries about an email, oldest first. */
async function webhooksOfEmail(
  db: Db,
  { teamId, emailId, limit }: { teamId: string; emailId: string; limit: number },
): Promise<WebhookDelivery[]> {
  const rows = await selectDeliveries(db)
    .where('email_id', '=', emailId)
    .where('team_id', '=', teamId)
    .orderBy('id')
    .limit(limit)
    .execute()
  return withLast(db, rows.map(toDelivery))
}

export const methods = {
  reads: {
    webhooksOfEmail,
    listWebhookDeliveries,
    getWebhookDelivery,
    listWebhookAttempts,
    countWebhookRequests,
  },
  writes: { replayWebhookDeliveries, purgeWebhookDeliveries },
}
