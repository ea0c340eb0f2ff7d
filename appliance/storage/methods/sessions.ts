import type { Kysely } from 'kysely'
import type { SessionsTable, Tables } from '../schema.ts'
import type { Session } from '../storage.ts'

type Db = Kysely<Tables>

/** What stands behind a session, out of its row. */
export const strength = (
  row: Pick<SessionsTable, 'strong' | 'vouched'>,
): Pick<Session, 'strong' | 'vouched'> => ({
  strong: row.strong === 1 || row.vouched === 1,
  vouched: row.vouched === 1,
})

/** See `SessionStorage.listSessions`. */
export async function listSessions(db: Db, { userId }: { userId: string }, now: number): Promise<Session[]> {
  const rows = await db
    .selectFrom('sessions')
    .selectAll()
    .where('user_id', '=', userId)
    .where('expires_at', '>', now)
    .orderBy('last_seen_at', 'desc')
    .orderBy('id')
    .execute()
  return rows.map((row) => ({
    tokenHash: row.token_hash,
    id: row.id,
    teamId: row.team_id,
    userId: row.user_id,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    lastSeenAt: row.last_seen_at,
    provedAt: row.proved_at,
    method: row.method,
    ...strength(row),
    ip: row.ip,
    userAgent: row.user_agent,
  }))
}

/** See `SessionStorage.endSession`. */
export async function endSession(db: Db, { userId, id }: { userId: string; id: string }): Promise<boolean> {
  const deleted = await db
    .deleteFrom('sessions')
    .where('user_id', '=', userId)
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return deleted.numDeletedRows > 0n
}

/** See `SessionStorage.endSessions`. */
export async function endSessions(
  db: Db,
  { userId, keep }: { userId: string; keep: string | null },
): Promise<number> {
  const theirs = db.deleteFrom('sessions').where('user_id', '=', userId)
  const deleted = await (
    keep === null ? theirs : theirs.where('token_hash', '!=', keep)
  ).executeTakeFirstOrThrow()
  return Number(deleted.numDeletedRows)
}

/** See `SessionStorage.renewSession`. */
export async function renewSession(
  db: Db,
  { tokenHash, renewed }: { tokenHash: string; renewed: string },
  now: number,
): Promise<boolean> {
  const changed = await db
    .updateTable('sessions')
    .set({ token_hash: renewed })
    .where('token_hash', '=', tokenHash)
    .where('expires_at', '>', now)
    .executeTakeFirstOrThrow()
  return changed.numUpdatedRows > 0n
}
