/** Users and their passwords. */
import type { Selectable } from 'kysely'
import type { Db, UsersTable } from './schema.ts'
import { firstTeam, type Team } from './teams.ts'
import { dropTickets } from './tickets.ts'

/** The second steps that a user has set up. */
export interface FactorCounts {
  totp: boolean
  passkeys: number
  /** Number of unused recovery codes. */
  recoveryCodes: number
}

export async function countFactors(db: Db, { userId }: { userId: string }): Promise<FactorCounts> {
  const totp = await db
    .selectFrom('totp_factors')
    .select('user_id')
    .where('user_id', '=', userId)
    .where('confirmed_at', 'is not', null)
    .executeTakeFirst()
  const count = (table: 'passkeys' | 'recovery_codes') =>
    db
      .selectFrom(table)
      .select((get) => get.fn.countAll<number | bigint | string>().as('n'))
      .where('user_id', '=', userId)
      .executeTakeFirstOrThrow()
  const passkeys = await count('passkeys')
  const codes = await count('recovery_codes')
  return { totp: totp !== undefined, passkeys: Number(passkeys.n), recoveryCodes: Number(codes.n) }
}

/** Whether a user has a second step: a confirmed authenticator app or a passkey. */
export async function hasSecondFactor(db: Db, args: { userId: string }): Promise<boolean> {
  const { totp, passkeys } = await countFactors(db, args)
  return totp || passkeys > 0
}

export interface User {
  id: string
  email: string
  /** argon2id hash in PHC string form; null if the user signs in only with an identity provider or a passkey. */
  passwordHash: string | null
  createdAt: number
  /**
   * When the account's owner proved that the address is theirs, through an emailed link or a provider that is
   * authoritative for it. Null if not proved: someone else may have created the account.
   */
  provenAt: number | null
}

/** Numbers of sign-in methods that the first proof of an address revoked. */
export interface RevokedSignInMethods {
  /** Number of identities that were unlinked. */
  identities: number
  /** Number of passkeys that are now only a second step. */
  passkeys: number
}

/** The column stores an empty string for users without a password. */
export const toHash = (stored: string): string | null => (stored === '' ? null : stored)

const userColumns = ['id', 'email', 'password_hash', 'created_at', 'proven_at'] as const

const toUser = (row: Selectable<Pick<UsersTable, (typeof userColumns)[number]>>): User => ({
  id: row.id,
  email: row.email,
  passwordHash: toHash(row.password_hash),
  createdAt: row.created_at,
  provenAt: row.proven_at,
})

const emailKey = (email: string): string => email.toLowerCase()

/**
 * Creates a team with its first owner. Returns `exists` if a user already has the address or, with `onlyFirst`, if
 * there is already a team. The unique key prevents duplicates if two callers are concurrent, so no earlier lookup is
 * needed.
 */
async function createOwner(
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

/**
 * Sets a user's password. In the same transaction, ends all sessions of the user except `keep` (a token hash), pending
 * second steps, and links that set a password, because someone else may know the old password.
 * @param args.byMail whether the link was emailed, which proves the address. On the first proof, identities are
 * unlinked and passkeys can only be used as a second step, because someone else may have added them. Returns how many
 * were affected; null if it wasn't the first proof.
 * @param args.was the hash that the old password was compared with; returns `stale` and changes nothing if the stored
 * hash is a different one
 */
async function setPassword(
  db: Db,
  {
    userId,
    passwordHash,
    keep,
    byMail = false,
    was,
  }: { userId: string; passwordHash: string; keep: string | null; byMail?: boolean; was?: string },
  now: number,
): Promise<RevokedSignInMethods | null | 'stale'> {
  const change = db.updateTable('users').set({ password_hash: passwordHash }).where('id', '=', userId)
  const changed = await (
    was === undefined ? change : change.where('password_hash', '=', was)
  ).executeTakeFirstOrThrow()
  if (was !== undefined && changed.numUpdatedRows === 0n) return 'stale'
  const ended = db.deleteFrom('sessions').where('user_id', '=', userId)
  await (keep === null ? ended : ended.where('token_hash', '!=', keep)).execute()
  await dropTickets(db, { userId, kinds: ['second_factor', 'reset'] })
  return byMail ? proveAddress(db, userId, now) : null
}

/** Whether `hash` is still the user's stored hash. Hashing takes time, so the password may have changed meanwhile. */
export async function isCurrentPasswordHash(db: Db, userId: string, hash: string): Promise<boolean> {
  return (await getUser(db, { id: userId }))?.passwordHash === hash
}

/**
 * Marks an address as proved. Returns null if it was already proved, because then the user added all identities and
 * passkeys.
 */
async function proveAddress(db: Db, userId: string, now: number): Promise<RevokedSignInMethods | null> {
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

/** Finds a user by address, ignoring case. */
async function findUser(db: Db, args: { email: string }): Promise<User | undefined> {
  const row = await db
    .selectFrom('users')
    .select(userColumns)
    .where('email_key', '=', emailKey(args.email))
    .executeTakeFirst()
  return row && toUser(row)
}

/** Lists all users, sorted by address. */
async function listUsers(db: Db): Promise<(User & { hasSecondFactor: boolean })[]> {
  const rows = await db.selectFrom('users').select(userColumns).orderBy('email_key').execute()
  const users: (User & { hasSecondFactor: boolean })[] = []
  for (const row of rows)
    users.push({ ...toUser(row), hasSecondFactor: await hasSecondFactor(db, { userId: row.id }) })
  return users
}

async function getUser(db: Db, { id }: { id: string }): Promise<User | undefined> {
  const row = await db.selectFrom('users').select(userColumns).where('id', '=', id).executeTakeFirst()
  return row && toUser(row)
}

export const methods = {
  reads: { findUser, listUsers, getUser },
  writes: { createOwner, setPassword },
}
