/** Accounts at identity providers that users sign in with, in addition to or instead of a password. */
import type { Selectable } from 'kysely'
import type { Role } from '../mail/roles.ts'
import type { User } from './accounts.ts'
import { acceptInvitation, addUser, openInvitations } from './invitations.ts'
import type { Db, IdentitiesTable } from './schema.ts'
import { findSession } from './sessions.ts'

/** A user's account at an identity provider. */
export interface Identity {
  id: string
  userId: string
  /** Name of the provider in `sign_in.providers`. */
  provider: string
  /** Identifies, together with `subject`, the account at the provider. Never reassigned to another person. */
  issuer: string
  subject: string
  /** The last address that the provider reported, used only for display. */
  email: string
  createdAt: number
  /** The last sign-in with this identity; null if there was none. */
  lastUsedAt: number | null
}

/** The team and role of a new user, from an invitation or from `join` in the configuration. */
export interface Admission {
  teamId: string
  role: Role
}

const toIdentity = (row: Selectable<IdentitiesTable>): Identity => ({
  id: row.id,
  userId: row.user_id,
  provider: row.provider,
  issuer: row.issuer,
  subject: row.subject,
  email: row.email,
  createdAt: row.created_at,
  lastUsedAt: row.last_used_at,
})

const toRow = (identity: Identity): IdentitiesTable => ({
  id: identity.id,
  user_id: identity.userId,
  provider: identity.provider,
  issuer: identity.issuer,
  subject: identity.subject,
  email: identity.email,
  created_at: identity.createdAt,
  last_used_at: identity.lastUsedAt,
})

async function findIdentity(
  db: Db,
  args: { issuer: string; subject: string },
): Promise<Identity | undefined> {
  const row = await db
    .selectFrom('identities')
    .selectAll()
    .where('issuer', '=', args.issuer)
    .where('subject', '=', args.subject)
    .executeTakeFirst()
  return row && toIdentity(row)
}

/** Lists identities, oldest first. */
export async function listIdentities(db: Db, { userId }: { userId: string }): Promise<Identity[]> {
  const rows = await db
    .selectFrom('identities')
    .selectAll()
    .where('user_id', '=', userId)
    .orderBy('id')
    .execute()
  return rows.map(toIdentity)
}

/**
 * Links an identity to a user. Returns `taken` if it belongs to another user. If it is already linked, updates only the
 * address. The unique key of issuer and subject prevents duplicates.
 * @param args tokenHash: identifies the session that links the identity; returns `signed_out` if it has ended
 */
async function linkIdentity(
  db: Db,
  { identity, tokenHash }: { identity: Identity; tokenHash?: string | undefined },
  now: number,
): Promise<'linked' | 'taken' | 'signed_out'> {
  const { userId, provider, email } = identity
  if (tokenHash !== undefined && (await findSession(db, { tokenHash }, now))?.user.id !== userId)
    return 'signed_out'
  const linked = await db
    .insertInto('identities')
    .values(toRow(identity))
    .onConflict((conflict) =>
      conflict
        .columns(['issuer', 'subject'])
        .doUpdateSet({ provider, email })
        .where('identities.user_id', '=', userId),
    )
    .executeTakeFirstOrThrow()
  return linked.numInsertedOrUpdatedRows === 0n ? 'taken' : 'linked'
}

/** Records a sign-in with the identity and its current address. */
async function useIdentity(db: Db, { id, email }: { id: string; email: string }, now: number): Promise<void> {
  await db.updateTable('identities').set({ email, last_used_at: now }).where('id', '=', id).execute()
}

/**
 * Removes an identity and ends the sessions that its provider started, except `keep` (a token hash). The provider no longer
 * vouches for that session. Returns `last` and removes nothing if the user has no password, no passkey and no other
 * identity at one of `providers`.
 */
async function unlinkIdentity(
  db: Db,
  { userId, id, providers, keep }: { userId: string; id: string; providers: string[]; keep: string | null },
): Promise<'unlinked' | 'last' | 'missing'> {
  const all = await listIdentities(db, { userId })
  const one = all.find((identity) => identity.id === id)
  if (!one) return 'missing'
  const others = all.some((other) => other.id !== id && providers.includes(other.provider))
  if (!others && !(await entersWithout(db, userId))) return 'last'
  await db.deleteFrom('identities').where('id', '=', id).execute()
  const method = `oidc:${one.provider}` as const
  const begun = db.deleteFrom('sessions').where('user_id', '=', userId).where('method', '=', method)
  await (keep === null ? begun : begun.where('token_hash', '!=', keep)).execute()
  const kept = db.updateTable('sessions').set({ vouched: 0 }).where('user_id', '=', userId)
  await kept.where('method', '=', method).execute()
  return 'unlinked'
}

/** Whether the user can sign in without an identity provider. */
async function entersWithout(db: Db, userId: string): Promise<boolean> {
  const user = await db
    .selectFrom('users')
    .select('password_hash')
    .where('id', '=', userId)
    .executeTakeFirst()
  if (user !== undefined && user.password_hash !== '') return true
  const passkey = await db
    .selectFrom('passkeys')
    .select('id')
    .where('user_id', '=', userId)
    .limit(1)
    .executeTakeFirst()
  return passkey !== undefined
}

/**
 * Creates a user without a password, linked to the identity. The user joins every team that invited the address, or `join`
 * if none did. The invitations are deleted. Returns undefined and creates nothing if there is no invitation and no `join`,
 * if the team of `join` no longer exists, or if the address or identity already belongs to a user.
 */
async function admitNewcomer(
  db: Db,
  { user, identity, join }: { user: User; identity: Identity; join: Admission | null },
  now: number,
): Promise<Admission[] | undefined> {
  const invited = await openInvitations(db, user, now)
  const joins = invited.length === 0 && join !== null && (await isTeam(db, join.teamId))
  if (invited.length === 0 && !joins) return undefined
  if (await findIdentity(db, identity)) return undefined
  if (!(await addUser(db, user))) return undefined
  await db.insertInto('identities').values(toRow(identity)).execute()
  const who = { userId: user.id }
  for (const { id } of invited) await acceptInvitation(db, { id, who }, now)
  if (!joins) return invited.map(({ teamId, role }) => ({ teamId, role }))
  const { teamId, role } = join
  await db
    .insertInto('members')
    .values({ team_id: teamId, user_id: user.id, role, created_at: now })
    .execute()
  return [join]
}

async function isTeam(db: Db, id: string): Promise<boolean> {
  return (await db.selectFrom('teams').select('id').where('id', '=', id).executeTakeFirst()) !== undefined
}

export const methods = {
  reads: { findIdentity, listIdentities },
  writes: { linkIdentity, useIdentity, unlinkIdentity, admitNewcomer },
}
