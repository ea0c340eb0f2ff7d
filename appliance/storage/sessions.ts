/** Sessions of the dashboard. */
import type { Role } from '../mail/roles.ts'
import { isCurrentPasswordHash, toHash, type User, hasSecondFactor } from './accounts.ts'
import type { Db, SessionsTable } from './schema.ts'
import type { Team } from './teams.ts'
import type { SignInMethod } from './values.ts'

/** A signed-in browser. The cookie holds a random token; only its SHA-256 is stored. */
export interface Session {
  tokenHash: string
  /** Identifies the session without revealing the token. */
  id: string
  teamId: string
  userId: string
  createdAt: number
  expiresAt: number
  /** When the session was last used, accurate to a few minutes. */
  lastSeenAt: number
  /** When the user last confirmed the password or a second step. */
  provedAt: number
  method: SignInMethod
  /**
   * Whether the session was authenticated by more than a password: a second step, a passkey, or a provider that is trusted
   * to require one.
   */
  strong: boolean
  /**
   * Whether the session is strong because the identity provider vouched for it. Stays true when the user's own second steps
   * are removed.
   */
  vouched: boolean
  ip: string | null
  userAgent: string | null
}

/** A session with everything that determines permissions. */
export interface FoundSession {
  session: Session
  user: User
  team: Team
  /** Role of the user in the team. */
  role: Role
  hasSecondFactor: boolean
  /** Whether the team requires two-step sign-in. */
  mfaRequired: boolean
}

/**
 * Creates a session. A second step makes a session strong only while the user has one. It may have been removed since the
 * user completed it, so this checks in the same transaction.
 * @param args.passwordHash the hash that the sign-in password was compared with; returns false and creates nothing if the
 * stored hash is a different one
 */
async function createSession(
  db: Db,
  { passwordHash, ...session }: Session & { passwordHash?: string | undefined },
): Promise<boolean> {
  if (passwordHash !== undefined && !(await isCurrentPasswordHash(db, session.userId, passwordHash)))
    return false
  const shown = session.strong && !session.vouched && (await hasSecondFactor(db, session))
  await db
    .insertInto('sessions')
    .values({
      token_hash: session.tokenHash,
      team_id: session.teamId,
      user_id: session.userId,
      created_at: session.createdAt,
      expires_at: session.expiresAt,
      id: session.id,
      last_seen_at: session.lastSeenAt,
      proved_at: session.provedAt,
      method: session.method,
      strong: shown ? 1 : 0,
      vouched: session.vouched ? 1 : 0,
      ip: session.ip,
      user_agent: session.userAgent,
    })
    .execute()
  return true
}

/** Finds an unexpired session with its user and team. Joins `members`, so that a session ends when the membership ends. */
export async function findSession(
  db: Db,
  { tokenHash }: { tokenHash: string },
  now: number,
): Promise<FoundSession | undefined> {
  const row = await db
    .selectFrom('sessions as s')
    .innerJoin('members as m', (on) =>
      on.onRef('m.team_id', '=', 's.team_id').onRef('m.user_id', '=', 's.user_id'),
    )
    .innerJoin('users as u', 'u.id', 's.user_id')
    .innerJoin('teams as t', 't.id', 's.team_id')
    .select(['s.team_id', 's.user_id', 's.created_at', 's.expires_at', 's.ip', 's.user_agent'])
    .select(['s.id', 's.last_seen_at', 's.proved_at', 's.method', 's.strong', 's.vouched'])
    .select(['u.email', 'u.password_hash', 'u.created_at as user_created_at', 'u.proven_at'])
    .select(['t.name as team_name', 't.created_at as team_created_at', 't.mfa_required', 'm.role'])
    .where('s.token_hash', '=', tokenHash)
    .where('s.expires_at', '>', now)
    .executeTakeFirst()
  if (!row) return undefined
  const { team_id: teamId, user_id: userId } = row
  return {
    session: {
      tokenHash,
      teamId,
      userId,
      createdAt: row.created_at,
      expiresAt: row.expires_at,
      id: row.id,
      lastSeenAt: row.last_seen_at,
      provedAt: row.proved_at,
      method: row.method,
      ...strength(row),
      ip: row.ip,
      userAgent: row.user_agent,
    },
    user: {
      id: userId,
      email: row.email,
      passwordHash: toHash(row.password_hash),
      createdAt: row.user_created_at,
      provenAt: row.proven_at,
    },
    team: { id: teamId, name: row.team_name, createdAt: row.team_created_at },
    role: row.role,
    hasSecondFactor: await hasSecondFactor(db, { userId }),
    mfaRequired: row.mfa_required === 1,
  }
}

/** Records that the session was used. */
async function touchSession(db: Db, args: { tokenHash: string }, now: number): Promise<void> {
  await db
    .updateTable('sessions')
    .set({ last_seen_at: now })
    .where('token_hash', '=', args.tokenHash)
    .execute()
}

/**
 * Records that the user confirmed the password or a second step. Sets `strong` if it was a second step and the user still
 * has one; see `createSession`. Confirming the password later never unsets it.
 */
async function proveSession(
  db: Db,
  { tokenHash, strong }: { tokenHash: string; strong: boolean },
  now: number,
): Promise<void> {
  const proved = await db
    .updateTable('sessions')
    .set({ proved_at: now })
    .where('token_hash', '=', tokenHash)
    .returning('user_id')
    .executeTakeFirst()
  if (!strong || !proved || !(await hasSecondFactor(db, { userId: proved.user_id }))) return
  await db.updateTable('sessions').set({ strong: 1 }).where('token_hash', '=', tokenHash).execute()
}

async function deleteSession(db: Db, args: { tokenHash: string }): Promise<void> {
  await db.deleteFrom('sessions').where('token_hash', '=', args.tokenHash).execute()
}

/** Deletes expired sessions and returns their number. */
async function purgeSessions(db: Db, _args: object, now: number): Promise<number> {
  const deleted = await db.deleteFrom('sessions').where('expires_at', '<=', now).executeTakeFirstOrThrow()
  return Number(deleted.numDeletedRows)
}

/** Reads the authentication strength of a session from its row. */
const strength = (row: Pick<SessionsTable, 'strong' | 'vouched'>): Pick<Session, 'strong' | 'vouched'> => ({
  strong: row.strong === 1 || row.vouched === 1,
  vouched: row.vouched === 1,
})

/** Lists unexpired sessions, most recently used first. */
async function listSessions(db: Db, { userId }: { userId: string }, now: number): Promise<Session[]> {
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

/** Ends one session of the user. Returns false if there is no such session. */
async function endSession(db: Db, { userId, id }: { userId: string; id: string }): Promise<boolean> {
  const deleted = await db
    .deleteFrom('sessions')
    .where('user_id', '=', userId)
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return deleted.numDeletedRows > 0n
}

/** Ends all sessions of the user except `keep` (a token hash), and returns their number. */
async function endSessions(
  db: Db,
  { userId, keep }: { userId: string; keep: string | null },
): Promise<number> {
  const theirs = db.deleteFrom('sessions').where('user_id', '=', userId)
  const deleted = await (
    keep === null ? theirs : theirs.where('token_hash', '!=', keep)
  ).executeTakeFirstOrThrow()
  return Number(deleted.numDeletedRows)
}

/** Replaces the token of a session. Returns false if it has ended. */
async function renewSession(
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

export const methods = {
  reads: { findSession, listSessions },
  writes: {
    createSession,
    touchSession,
    proveSession,
    deleteSession,
    endSession,
    endSessions,
    renewSession,
    purgeSessions,
  },
}
