/** Receipts of idempotent requests: stored responses, so that an app can safely repeat a request. */
import { sql } from 'kysely'
import type { Db } from './schema.ts'

/** Identifies a receipt. A key is valid only for one team, method and path. */
export interface ReceiptName {
  teamId: string
  /** Method and path, such as `POST /emails`. */
  scope: string
  /** The key as the app sent it, 1–256 characters. */
  key: string
}

export interface Receipt {
  /** Hash that identifies the request body. */
  fingerprint: string
  /** The response body, as JSON. */
  body: string
  /** Emails that the request created, in order. */
  emailIds: string[]
}

/** A receipt to store in the same transaction as the emails of its request. */
export interface NewReceipt extends ReceiptName, Receipt {
  /** Time from which the key can be reused (Unix milliseconds). */
  expiresAt: number
}

/** Finds the unexpired receipt of a request. */
async function findReceipt(db: Db, args: ReceiptName, now: number): Promise<Receipt | undefined> {
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

/** Converts a row. */
export function toReceipt(row: { fingerprint: string; body: string; email_ids: string }): Receipt {
  return {
    fingerprint: row.fingerprint,
    body: row.body,
    emailIds: JSON.parse(row.email_ids) as string[],
  }
}

/** Deletes at most `limit` expired receipts, oldest first, and returns their number. */
async function purgeReceipts(db: Db, args: { limit: number }, now: number): Promise<number> {
  const deleted = await db
    .deleteFrom('receipts')
    .where((where) => {
      const expired = where
        .selectFrom('receipts')
        .select(['team_id', 'scope', 'key'])
        .where('expires_at', '<=', now)
        .orderBy('expires_at')
        .limit(args.limit)
      return sql<boolean>`${where.refTuple('team_id', 'scope', 'key')} in ${expired}`
    })
    .executeTakeFirstOrThrow()
  return Number(deleted.numDeletedRows)
}

export const methods = {
  reads: { findReceipt },
  writes: { purgeReceipts },
}
