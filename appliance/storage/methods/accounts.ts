import type { Kysely, Selectable } from 'kysely'
import type { Tables, UsersTable } from '../schema.ts'
import type { AccountStorage, FirstProof, FoundSession, Team, User } from '../storage.ts'
import { hasSecondFactor } from './factor-counts.ts'
import { strength } from './sessions.ts'
import { dropTickets } from './tickets.ts'

type Db = Kysely<Tables>

/** People without a password have an empty text there. */
const toHash = (stored: string): string | null => (stored === '' ? null : stored)

const userColumns = ['id', 'email', 'password_hash', 'created_at', 'proven_at'] as const
const toUser = (row: Selectable<Pick<UsersTable, (typeof userColumns)[number]>>): User => ({
  id: row.id,
  email: row.email,
  passwordHash: toHash(row.password_hash),
  createdAt: row.created_at,
  provenAt: row.proven_at,
})

const emailKey = (email: string): string => email.toLowerCase()

/** See `Storage.createOwner`. Two callers with one address cannot both win: the unique key decides, not a look beforehand. */
export async function createOwner(
  db: Db,
  { team, user, onlyFirst = false }: { team: Team; user: User; onlyFirst?: boolean },
  now: number,
): Promise<'created' | 'exists'> {
  if (onlyFirst && (await firstTeam(db))) return 'exists'
  const inserted = await db
    .insertInto('users')
    .values({
      id: user.id,
      email: user.email,
      email_key: emailKey(user.email),
      password_hash: user.passwordHash ?? '',
      created_at: user.createdAt,
      proven_at: user.provenAt,
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
export async function setPassword(
  db: Db,
  { userId, passwordHash, keep, byMail = false, was }: Parameters<AccountStorage['setPassword']>[0],
  now: number,
): Promise<FirstProof | null | 'stale'> {
  if (was !== undefined && !(await isPassword(db, userId, was))) return 'stale'
  await db.updateTable('users').set({ password_hash: passwordHash }).where('id', '=', userId).execute()
  const ended = db.deleteFrom('sessions').where('user_id', '=', userId)
  await (keep === null ? ended : ended.where('token_hash', '!=', keep)).execute()
  await dropTickets(db, { userId, kinds: ['second_factor', 'reset'] })
  return byMail ? proveAddress(db, userId, now) : null
}

/** Whether that is what is stored of a person's password now: hashing takes its time, and another may have been set meanwhile. */
async function isPassword(db: Db, userId: string, hash: string): Promise<boolean> {
  return (await getUser(db, { id: userId }))?.passwordHash === hash
}

/** Null where it was proven before: then what opens the account is the person's. */
async function proveAddress(db: Db, userId: string, now: number): Promise<FirstProof | null> {
  const proven = await db
    .updateTable('users')
    .set({ proven_at: now })
    .where('id', '=', userId)
    .where('proven_at', 'is', null)
    .executeTakeFirstOrThrow()
  if (proven.numUpdatedRows === 0n) return null
  const unlinked = await db.deleteFrom('identities').where('user_id', '=', userId).executeTakeFirstOrThrow()
  const lowered = await db
    .updateTable('passkeys')
    .set({ alone: 0 })
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow()
  return { identities: Number(unlinked.numDeletedRows), passkeys: Number(lowered.numUpdatedRows) }
}

/** See `Storage.findUser`. The case of letters does not matter. */
export async function findUser(db: Db, args: { email: string }): Promise<User | undefined> {
  const row = await db
    .selectFrom('users')
    .select(userColumns)
    .where('email_key', '=', emailKey(args.email))
    .executeTakeFirst()
  return row && toUser(row)
}

/** See `Storage.listUsers`. */
export async function listUsers(db: Db): Promise<(User & { hasSecondFactor: boolean })[]> {
  const rows = await db.selectFrom('users').select(userColumns).orderBy('email_key').execute()
  const users: (User & { hasSecondFactor: boolean })[] = []
  for (const row of rows)
    users.push({ ...toUser(row), hasSecondFactor: await hasSecondFactor(db, { userId: row.id }) })
  return users
}

/** See `Storage.getUser`. */
export async function getUser(db: Db, { id }: { id: string }): Promise<User | undefined> {
  const row = await db.selectFrom('users').select(userColumns).where('id', '=', id).executeTakeFirst()
  return row && toUser(row)
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

/** See `Storage.teamToEnter`. */
export async function teamToEnter(
  db: Db,
  { userId, teamId }: { userId: string; teamId?: string | undefined },
): Promise<Team | undefined> {
  const rows = await db
    .selectFrom('members as m')
    .innerJoin('teams as t', 't.id', 'm.team_id')
    .select(['t.id', 't.name', 't.created_at'])
    .where('m.user_id', '=', userId)
    .orderBy('m.created_at')
    .orderBy('t.id')
    .execute()
  const row = rows.find(({ id }) => id === teamId) ?? rows[0]
  return row && { id: row.id, name: row.name, createdAt: row.created_at }
}

/** See `Storage.createSession`. The factor may have gone since it was shown, so that is looked at in the same step. */
export async function createSession(
  db: Db,
  { passwordHash, ...session }: Parameters<AccountStorage['createSession']>[0],
): Promise<boolean> {
  if (passwordHash !== undefined && !(await isPassword(db, session.userId, passwordHash))) return false
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

/** See `Storage.findSession`. Joined with `members`, so that a session ends with the membership. */
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

/** See `Storage.touchSession`. */
export async function touchSession(db: Db, args: { tokenHash: string }, now: number): Promise<void> {
  await db
    .updateTable('sessions')
    .set({ last_seen_at: now })
    .where('token_hash', '=', args.tokenHash)
    .execute()
}

/** See `Storage.proveSession`. A password after a factor takes nothing away; as for the factor, see `createSession`. */
export async function proveSession(
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

/** See `Storage.deleteSession`. */
export async function deleteSession(db: Db, args: { tokenHash: string }): Promise<void> {
  await db.deleteFrom('sessions').where('token_hash', '=', args.tokenHash).execute()
}

/** See `Storage.purgeSessions`. */
export async function purgeSessions(db: Db, _args: object, now: number): Promise<number> {
  const deleted = await db.deleteFrom('sessions').where('expires_at', '<=', now).executeTakeFirstOrThrow()
  return Number(deleted.numDeletedRows)
}
