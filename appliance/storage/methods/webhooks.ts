import { sql, type Kysely, type Selectable } from 'kysely'
import { firstIdAt } from '../../mail/ids.ts'
import type { Tables, WebhookAttemptsTable, WebhookDeliveriesTable, WebhooksTable } from '../schema.ts'
import type {
  Page,
  Webhook,
  WebhookAttempt,
  WebhookDelivery,
  WebhookListener,
  WebhookRequests,
  WebhookStorage,
} from '../storage.ts'
import { pageOf } from './page.ts'

type Db = Kysely<Tables>
type Args<M extends keyof WebhookStorage> = Parameters<WebhookStorage[M]>[0]

function toWebhook(row: Selectable<WebhooksTable>): Webhook {
  const oldSecret =
    row.old_secret === null ? null : { secret: row.old_secret, until: row.old_secret_until ?? 0 }
  return { ...toListener(row), secret: row.secret, oldSecret }
}

/** A row as an object of the port, without its secrets. */
export function toListener(row: Selectable<WebhooksTable>): WebhookListener {
  return {
    id: row.id,
    teamId: row.team_id,
    endpoint: row.endpoint,
    events: JSON.parse(row.events) as string[],
    status: row.status,
    createdAt: row.created_at,
    succeededAt: row.succeeded_at,
    failingSince: row.failing_since,
    disabled: row.disabled_at === null ? null : { at: row.disabled_at, reason: row.disabled_reason ?? '' },
  }
}

/** See `WebhookStorage.createWebhook`. */
export async function createWebhook(db: Db, { webhook, most }: Args<'createWebhook'>): Promise<boolean> {
  const { count } = await db
    .selectFrom('webhooks')
    .select((select) => select.fn.countAll<number>().as('count'))
    .where('team_id', '=', webhook.teamId)
    .executeTakeFirstOrThrow()
  if (Number(count) >= most) return false
  await db
    .insertInto('webhooks')
    .values({
      id: webhook.id,
      team_id: webhook.teamId,
      endpoint: webhook.endpoint,
      events: JSON.stringify(webhook.events),
      status: webhook.status,
      secret: webhook.secret,
      old_secret: webhook.oldSecret?.secret ?? null,
      old_secret_until: webhook.oldSecret?.until ?? null,
      created_at: webhook.createdAt,
      succeeded_at: webhook.succeededAt,
      failing_since: webhook.failingSince,
      failures: 0,
      disabled_at: webhook.disabled?.at ?? null,
      disabled_reason: webhook.disabled?.reason ?? null,
    })
    .execute()
  return true
}

/** See `WebhookStorage.listWebhooks`. */
export async function listWebhooks(db: Db, { teamId }: Args<'listWebhooks'>): Promise<Webhook[]> {
  const rows = await db
    .selectFrom('webhooks')
    .selectAll()
    .where('team_id', '=', teamId)
    .orderBy('id', 'desc')
    .execute()
  return rows.map(toWebhook)
}

/** See `WebhookStorage.getWebhook`. */
export async function getWebhook(db: Db, args: Args<'getWebhook'>): Promise<Webhook | undefined> {
  const row = await db
    .selectFrom('webhooks')
    .selectAll()
    .where('id', '=', args.id)
    .where('team_id', '=', args.teamId)
    .executeTakeFirst()
  return row && toWebhook(row)
}

/** See `WebhookStorage.updateWebhook`. */
export async function updateWebhook(
  db: Db,
  { teamId, id, change, reason }: Args<'updateWebhook'>,
  now: number,
): Promise<Webhook | undefined> {
  const { endpoint, events, status } = change
  const found = await getWebhook(db, { teamId, id })
  if (!found) return undefined
  const switched = status !== undefined && status !== found.status
  // Another address has failed nobody yet.
  const forget = switched || (endpoint !== undefined && endpoint !== found.endpoint)
  await db
    .updateTable('webhooks')
    .set({
      id,
      ...(endpoint === undefined ? {} : { endpoint }),
      ...(events === undefined ? {} : { events: JSON.stringify(events) }),
      ...(forget ? { failing_since: null, failures: 0 } : {}),
      ...(switched && status === 'enabled' ? { status, disabled_at: null, disabled_reason: null } : {}),
      ...(switched && status === 'disabled' ? { status, disabled_at: now, disabled_reason: reason } : {}),
    })
    .where('id', '=', id)
    .where('team_id', '=', teamId)
    .execute()
  return getWebhook(db, { teamId, id })
}

/** See `WebhookStorage.rotateWebhookSecret`. */
export async function rotateWebhookSecret(
  db: Db,
  { teamId, id, secret, oldUntil }: Args<'rotateWebhookSecret'>,
): Promise<Webhook | undefined> {
  await db
    .updateTable('webhooks')
    .set((set) => ({ old_secret: set.ref('secret'), old_secret_until: oldUntil, secret }))
    .where('id', '=', id)
    .where('team_id', '=', teamId)
    .execute()
  return getWebhook(db, { teamId, id })
}

/** See `WebhookStorage.deleteWebhook`. */
export async function deleteWebhook(db: Db, { teamId, id }: Args<'deleteWebhook'>): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('webhooks')
    .where('id', '=', id)
    .where('team_id', '=', teamId)
    .executeTakeFirstOrThrow()
  return numDeletedRows > 0n
}

/** All deliveries, with whether their emails are still there. */
export const selectDeliveries = (db: Db) =>
  db
    .selectFrom('webhook_deliveries')
    .selectAll()
    .select(
      sql<number>`exists (select 1 from emails where emails.id = webhook_deliveries.email_id)`.as(
        'email_kept',
      ),
    )

/** A row of `selectDeliveries` as the port shows it, but for its requests: `withLast`. */
export const toDelivery = (
  row: Selectable<WebhookDeliveriesTable> & { email_kept: number },
): WebhookDelivery => ({
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

/** The deliveries with the newest request of each, which one query reads for all of them. */
export async function withLast(db: Db, deliveries: WebhookDelivery[]): Promise<WebhookDelivery[]> {
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

/** See `WebhookStorage.listWebhookDeliveries`. */
export async function listWebhookDeliveries(
  db: Db,
  { teamId, webhookId, status, type, ...page }: Args<'listWebhookDeliveries'>,
): Promise<Page<WebhookDelivery>> {
  let query = selectDeliveries(db).where('webhook_id', '=', webhookId).where('team_id', '=', teamId)
  if (status !== undefined) query = query.where('status', '=', status)
  if (type !== undefined) query = query.where('type', '=', type)
  const { items, hasMore } = await pageOf(query, page, toDelivery)
  return { items: await withLast(db, items), hasMore }
}

/** See `WebhookStorage.getWebhookDelivery`. */
export async function getWebhookDelivery(
  db: Db,
  { teamId, webhookId, id }: Args<'getWebhookDelivery'>,
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

/** See `WebhookStorage.listWebhookAttempts`. */
export async function listWebhookAttempts(
  db: Db,
  { teamId, webhookId, deliveryId, ...page }: Args<'listWebhookAttempts'>,
): Promise<Page<WebhookAttempt>> {
  let query = db
    .selectFrom('webhook_attempts')
    .selectAll()
    .where('webhook_id', '=', webhookId)
    .where('team_id', '=', teamId)
  if (deliveryId !== undefined) query = query.where('delivery_id', '=', deliveryId)
  return pageOf(query, page, toAttempt)
}

/** See `WebhookStorage.countWebhookRequests`. Ids begin with their time: the index by endpoint and id bounds what is read. */
export async function countWebhookRequests(
  db: Db,
  { teamId, webhookId, since, most }: Args<'countWebhookRequests'>,
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

/** See `WebhookStorage.replayWebhookDeliveries`. */
export async function replayWebhookDeliveries(
  db: Db,
  { teamId, webhookId, ids: wanted }: Args<'replayWebhookDeliveries'>,
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

/** See `WebhookStorage.purgeWebhookDeliveries`. */
export async function purgeWebhookDeliveries(
  db: Db,
  { before, most }: Args<'purgeWebhookDeliveries'>,
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
