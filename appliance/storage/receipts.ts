/** Receipts of idempotent requests: what was answered, kept so that the same request can be asked again without harm. */
import { sql } from 'kysely'
import type { Db } from './schema.ts'

/** A key means something only for one team, method and path. */
export interface ReceiptName {
  teamId: string
  /** Method and path: `POST /emails`. */
  scope: string
  /** As the caller gave it, 1–256 characters. */
  key: string
}

export interface Receipt {
  /** Tells one request body from another. */
  fingerprint: string
  /** The body of the answer, JSON. */
  body: string
  /** Emails that the request made, in its order. */
  emailIds: string[]
}

/** Becomes durable together with the emails that it answers for. */
export interface NewReceipt extends ReceiptName, Receipt {
  /** From then on the key may be used anew (Unix milliseconds). */
  expiresAt: number
}

/** The unexpired receipt of a request. */
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

/** A row as the port shows it. */
export function toReceipt(row: { fingerprint: string; body: string; email_ids: string }): Receipt {
  return {
    fingerprint: row.fingerprint,
    body: row.body,
    emailIds: JSON.parse(row.email_ids) as string[],
  }
}

/** Removes expired receipts, at most `limit`, the oldest first; returns how many. */
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

/** The methods of this noun (nouns.ts). */
export const methods = {
  reads: { findReceipt },
  writes: { purgeReceipts },
}
