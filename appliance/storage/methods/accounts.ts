import type { Kysely } from 'kysely'
import type { Tables } from '../schema.ts'
import type { Session, Team, User } from '../storage.ts'

type Db = Kysely<Tables>

const emailKey = (email: string): string => email.toLowerCase()

/** See `Storage.createOwner`. Two callers with one address cannot both win: the unique key decides, not a look beforehand. */
export async function createOwner(
  db: Db,
  { team, user }: { team: Team; user: User },
  now: number,
): Promise<'created' | 'exists'> {
  const inserted = await db
    .insertInto('users')
    .values({
      id: user.id,
      email: user.email,
      email_key: emailKey(user.email),
      password_hash: user.passwordHash,
      created_at: user.createdAt,
    })
    .onConflict((conflict) => conflict.column('email_key').doNothing())
    .executeTakeFirstOrThrow()
  if (inserted.numInsertedOrUpdatedRows === 0n) return 'exists'
  await db.insertInto('teams').values({ id: team.id, name: team.name, created_at: team.createdAt }).execute()
  await db
    .insertInto('members')
    .values({ team_id: team.id, user_id: user.id, role: 'owner', created_at: now })
    .execute()
  return 'created'
}

/** See `Storage.setPassword`. */
export async function setPassword(db: Db, args: { userId: string; passwordHash: string }): Promise<void> {
  await db
    .updateTable('users')
    .set({ password_hash: args.passwordHash })
    .where('id', '=', args.userId)
    .execute()
}

/** See `Storage.findUser`. The case of letters does not matter. */
export async function findUser(db: Db, args: { email: string }): Promise<User | undefined> {
  const row = await db
    .selectFrom('users')
    .select(['id', 'email', 'password_hash', 'created_at'])
    .where('email_key', '=', emailKey(args.email))
    .executeTakeFirst()
  return row && { id: row.id, email: row.email, passwordHash: row.password_hash, createdAt: row.created_at }
}

/** See `Storage.firstTeam`. */
export async function firstTeam(db: Db): Promise<Team | undefined> {
  const row = await db
    .selectFrom('teams')
    .select(['id', 'name', 'created_at'])
    .orderBy('created_at')
    .orderBy('id')
    .limit(1)
    .executeTakeFirst()
  return row && { id: row.id, name: row.name, createdAt: row.created_at }
}

/** See `Storage.createSession`. */
export async function createSession(db: Db, session: Session): Promise<void> {
  await db
    .insertInto('sessions')
    .values({
      token_hash: session.tokenHash,
      team_id: session.teamId,
      user_id: session.userId,
      created_at: session.createdAt,
      expires_at: session.expiresAt,
      ip: session.ip,
      user_agent: session.userAgent,
    })
    .execute()
}

/** See `Storage.findSession`. Joined with `members`, so that a session ends with the membership. */
export async function findSession(
  db: Db,
  { tokenHash }: { tokenHash: string },
  now: number,
): Promise<{ session: Session; user: User; team: Team } | undefined> {
  const row = await db
    .selectFrom('sessions as s')
    .innerJoin('members as m', (on) =>
      on.onRef('m.team_id', '=', 's.team_id').onRef('m.user_id', '=', 's.user_id'),
    )
    .innerJoin('users as u', 'u.id', 's.user_id')
    .innerJoin('teams as t', 't.id', 's.team_id')
    .select(['s.team_id', 's.user_id', 's.created_at', 's.expires_at', 's.ip', 's.user_agent'])
    .select(['u.email', 'u.password_hash', 'u.created_at as user_created_at'])
    .select(['t.name as team_name', 't.created_at as team_created_at'])
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
      ip: row.ip,
      userAgent: row.user_agent,
    },
    user: {
      id: userId,
      email: row.email,
      passwordHash: row.password_hash,
      createdAt: row.user_created_at,
    },
    team: { id: teamId, name: row.team_name, createdAt: row.team_created_at },
  }
}

/** See `Storage.deleteSession`. */
export async function deleteSession(db: Db, args: { tokenHash: string }): Promise<void> {
  await db.deleteFrom('sessions').where('token_hash', '=', args.tokenHash).execute()
}

/** See `Storage.purgeSessions`. */
export async function purgeSessions(db: Db, _args: object, now: number): Promise<number> {
  const deleted = await db.deleteFrom('sessions').where('expires_at', '<=', now).executeTakeFirstOrThrow()
  return Number(deleted.numDeletedRows)
}
