/** Webhooks: endpoints of a team that receive events. */
import type { Selectable } from 'kysely'
import type { WebhookStatus } from '../../mail/webhook.ts'
import type { Db, WebhooksTable } from '../schema.ts'

export interface Webhook {
  id: string
  teamId: string
  /** The URL. */
  endpoint: string
  /** The event types that the webhook receives. */
  events: string[]
  /** Whether the webhook receives events about emails of broadcasts. */
  broadcasts: boolean
  status: WebhookStatus
  /** The secret: `whsec_` and the key in base64. */
  secret: string
  /** The previous secret, which also signs requests until the given time. */
  oldSecret: { secret: string; until: number } | null
  createdAt: number
  /** Time of the last success, to the minute; null if there was none. */
  succeededAt: number | null
  /** Time of the first failure since the last success. */
  failingSince: number | null
  /** When and why the webhook was disabled, after all attempts failed for days. Null while it is enabled. */
  disabled: { at: number; reason: string } | null
}

/** A webhook without its secrets. */
export type PublicWebhook = Omit<Webhook, 'secret' | 'oldSecret'>

function toWebhook(row: Selectable<WebhooksTable>): Webhook {
  const oldSecret =
    row.old_secret === null ? null : { secret: row.old_secret, until: row.old_secret_until ?? 0 }
  return { ...toPublicWebhook(row), secret: row.secret, oldSecret }
}

/** Converts a row, without its secrets. */
export function toPublicWebhook(row: Selectable<WebhooksTable>): PublicWebhook {
  return {
    id: row.id,
    teamId: row.team_id,
    endpoint: row.endpoint,
    events: JSON.parse(row.events) as string[],
    broadcasts: row.broadcasts === 1,
    status: row.status,
    createdAt: row.created_at,
    succeededAt: row.succeeded_at,
    failingSince: row.failing_since,
    disabled: row.disabled_at === null ? null : { at: row.disabled_at, reason: row.disabled_reason ?? '' },
  }
}

/** Creates a webhook. Returns false and stores nothing if the team already has `most`. */
async function createWebhook(
  db: Db,
  { webhook, most }: { webhook: Webhook; most: number },
): Promise<boolean> {
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
      broadcasts: webhook.broadcasts ? 1 : 0,
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

/** Lists all webhooks of a team, newest first. */
async function listWebhooks(db: Db, { teamId }: { teamId: string }): Promise<Webhook[]> {
  const rows = await db
    .selectFrom('webhooks')
    .selectAll()
    .where('team_id', '=', teamId)
    .orderBy('id', 'desc')
    .execute()
  return rows.map(toWebhook)
}

async function getWebhook(db: Db, args: { teamId: string; id: string }): Promise<Webhook | undefined> {
  const row = await db
    .selectFrom('webhooks')
    .selectAll()
    .where('id', '=', args.id)
    .where('team_id', '=', args.teamId)
    .executeTakeFirst()
  return row && toWebhook(row)
}

/** Changes a webhook. Enabling it resets earlier failures. Returns undefined if it doesn't exist. */
async function updateWebhook(
  db: Db,
  {
    teamId,
    id,
    change,
    reason,
  }: {
    teamId: string
    id: string
    change: {
      endpoint?: string | undefined
      events?: string[] | undefined
      broadcasts?: boolean | undefined
      status?: WebhookStatus | undefined
    }
    /** The reason to store if the change disables the webhook. */
    reason: string
  },
  now: number,
): Promise<Webhook | undefined> {
  const { endpoint, events, broadcasts, status } = change
  const found = await getWebhook(db, { teamId, id })
  if (!found) return undefined
  const switched = status !== undefined && status !== found.status
  // Also reset failures for a new URL, which has none yet.
  const forget = switched || (endpoint !== undefined && endpoint !== found.endpoint)
  const row = await db
    .updateTable('webhooks')
    .set({
      id,
      ...(endpoint === undefined ? {} : { endpoint }),
      ...(events === undefined ? {} : { events: JSON.stringify(events) }),
      ...(broadcasts === undefined ? {} : { broadcasts: broadcasts ? 1 : 0 }),
      ...(forget ? { failing_since: null, failures: 0 } : {}),
      ...(switched && status === 'enabled' ? { status, disabled_at: null, disabled_reason: null } : {}),
      ...(switched && status === 'disabled' ? { status, disabled_at: now, disabled_reason: reason } : {}),
    })
    .where('id', '=', id)
    .where('team_id', '=', teamId)
    .returningAll()
    .executeTakeFirst()
  return row && toWebhook(row)
}

/** Rotates the secret: the current one becomes the old one. Returns undefined if the webhook doesn't exist. */
async function rotateWebhookSecret(
  db: Db,
  { teamId, id, secret, oldUntil }: { teamId: string; id: string; secret: string; oldUntil: number },
): Promise<Webhook | undefined> {
  const row = await db
    .updateTable('webhooks')
    .set((set) => ({ old_secret: set.ref('secret'), old_secret_until: oldUntil, secret }))
    .where('id', '=', id)
    .where('team_id', '=', teamId)
    .returningAll()
    .executeTakeFirst()
  return row && toWebhook(row)
}

/** Deletes a webhook. Nothing more is sent to it. Returns false if it didn't exist. */
async function deleteWebhook(db: Db, { teamId, id }: { teamId: string; id: string }): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('webhooks')
    .where('id', '=', id)
    .where('team_id', '=', teamId)
    .executeTakeFirstOrThrow()
  return numDeletedRows > 0n
}

export const methods = {
  reads: { listWebhooks, getWebhook },
  writes: { createWebhook, updateWebhook, rotateWebhookSecret, deleteWebhook },
}
