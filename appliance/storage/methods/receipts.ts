import type { Kysely } from 'kysely'
import type { Tables } from '../schema.ts'
import type { Receipt, ReceiptName } from '../storage.ts'

type Db = Kysely<Tables>

/** See `Storage.findReceipt`. */
export async function findReceipt(db: Db, args: ReceiptName, now: number): Promise<Receipt | undefined> {
  const row = await db
    .selectFrom('receipts')
    .select(['fingerprint', 'body', 'email_ids'])
    .where('team_id', '=', args.teamId)
    .where('scope', '=', args.scope)
    .where('key', '=', args.key)
    .where('expires_at', '>', now)
    .executeTakeFirst()
  return row && toReceipt(row)
}

/** A row as the port shows it. */
export function toReceipt(row: { fingerprint: string; body: string; email_ids: string }): Receipt {
  return {
    fingerprint: row.fingerprint,
    body: row.body,
    emailIds: JSON.parse(row.email_ids) as string[],
  }
}

/** See `Storage.purgeReceipts`. */
export async function purgeReceipts(db: Db, args: { limit: number }, now: number): Promise<number> {
  const expired = await db
    .selectFrom('receipts')
    .select(['team_id', 'scope', 'key'])
    .where('expires_at', '<=', now)
    .orderBy('expires_at')
    .limit(args.limit)
    .execute()
  for (const { team_id, scope, key } of expired) {
    await db
      .deleteFrom('receipts')
      .where('team_id', '=', team_id)
      .where('scope', '=', scope)
      .where('key', '=', key)
      .execute()
  }
  return expired.length
}
