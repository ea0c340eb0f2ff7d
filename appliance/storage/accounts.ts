/** People and their passwords. */
import type { Selectable } from 'kysely'
import type { Db, UsersTable } from './schema.ts'
import { firstTeam, type Team } from './teams.ts'
import { dropTickets } from './tickets.ts'

/** What of it somebody has. */
export interface FactorCounts {
  totp: boolean
  passkeys: number
  /** Unused ones. */
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

/** Whether there is one that counts: an app that was confirmed, or a passkey. */
export async function hasSecondFactor(db: Db, args: { userId: string }): Promise<boolean> {
  const { totp, passkeys } = await countFactors(db, args)
  return totp || passkeys > 0
}

export interface User {
  id: string
  email: string
  /** argon2id in PHC string form; null: enters by an identity provider or a passkey only. */
  passwordHash: string | null
  createdAt: number
  /**
   * When the account's owner proved that the address is theirs, through an emailed link or a provider that is authoritative for it. Null:
   * not proven, so the account may have been created by someone else.
   */
  provenAt: number | null
}

/** What the first proof of an address ended. */
export interface FirstProof {
  /** Identities that were unlinked. */
  identities: number
  /** Passkeys that are a second step only from then on. */
  passkeys: number
}

/** People without a password have an empty text there. */
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
 * Makes the team with its first owner; refuses with `exists` when there is a user with that address, and with `onlyFirst` when there is a team.
 * Two callers with one address cannot both win: the unique key decides, not a look beforehand.
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
 * Ends all sessions of the user but `keep` (a token hash), in the same step, sign-ins that wait for the second factor, and
 * links that would set another password: who knew the old one is out.
 * @param args.byMail the link came by mail, which proves the address. On the first proof, identities are unlinked and passkeys can only be
 * used as a second step, because someone else may have added them. Returns how many were affected; null if it wasn't the first proof.
 * @param args.was the hash that the old password was compared with; `stale` when it is another meanwhile, and nothing is changed
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
): Promise<FirstProof | null | 'stale'> {
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

/** Whether that is what is stored of a person's password now: hashing takes its time, and another may have been set meanwhile. */
export async function isPassword(db: Db, userId: string, hash: string): Promise<boolean> {
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

/** The case of letters does not matter. */
async function findUser(db: Db, args: { email: string }): Promise<User | undefined> {
  const row = await db
    .selectFrom('users')
    .select(userColumns)
    .where('email_key', '=', emailKey(args.email))
    .executeTakeFirst()
  return row && toUser(row)
}

/** All of them, by address. */
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

/** The methods of this noun (nouns.ts). */
export const methods = {
  reads: { findUser, listUsers, getUser },
  writes: { createOwner, setPassword },
}
