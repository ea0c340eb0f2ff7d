import type { Kysely } from 'kysely'
import type { Tables } from '../schema.ts'
import type { FoundInvitation, Invitation, Joining, MemberStorage, User } from '../storage.ts'

type Db = Kysely<Tables>
type Args<M extends keyof MemberStorage> = Parameters<MemberStorage[M]>[0]

const keyOf = (email: string): string => email.toLowerCase()

/** Those that hold. */
const holding = (db: Db, now: number) =>
  db
    .selectFrom('invitations as i')
    .innerJoin('teams as t', 't.id', 'i.team_id')
    .leftJoin('users as u', 'u.id', 'i.invited_by')
    .select(['i.id', 'i.team_id', 'i.email', 'i.role', 'i.created_at', 'i.expires_at'])
    .select(['t.name as team_name', 'u.email as inviter'])
    .where('i.expires_at', '>', now)

type Row = Awaited<ReturnType<ReturnType<typeof holding>['execute']>>[number]

const toInvitation = (row: Row): Invitation => ({
  id: row.id,
  teamId: row.team_id,
  teamName: row.team_name,
  email: row.email,
  role: row.role,
  invitedBy: row.inviter,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
})

/** See `MemberStorage.invite`. */
export async function invite(
  db: Db,
  { invitation, most }: Args<'invite'>,
  now: number,
): Promise<'invited' | 'member' | 'full'> {
  const { id, teamId, email, role, invitedBy, tokenHash, mailedHash, createdAt, expiresAt } = invitation
  const member = await db
    .selectFrom('members as m')
    .innerJoin('users as u', 'u.id', 'm.user_id')
    .select('u.id')
    .where('m.team_id', '=', teamId)
    .where('u.email_key', '=', keyOf(email))
    .executeTakeFirst()
  if (member) return 'member'
  await db
    .deleteFrom('invitations')
    .where('team_id', '=', teamId)
    .where((is) => is.or([is('email_key', '=', keyOf(email)), is('expires_at', '<=', now)]))
    .execute()
  const { n } = await db
    .selectFrom('invitations')
    .select((get) => get.fn.countAll<number | bigint | string>().as('n'))
    .where('team_id', '=', teamId)
    .executeTakeFirstOrThrow()
  if (Number(n) >= most) return 'full'
  await db
    .insertInto('invitations')
    .values({
      ...{ id, team_id: teamId, email, email_key: keyOf(email), role, invited_by: invitedBy },
      ...{ token_hash: tokenHash, mailed_hash: mailedHash, created_at: createdAt, expires_at: expiresAt },
    })
    .execute()
  return 'invited'
}

/** See `MemberStorage.listInvitations`. */
export async function listInvitations(
  db: Db,
  { teamId }: Args<'listInvitations'>,
  now: number,
): Promise<Invitation[]> {
  const rows = await holding(db, now)
    .where('i.team_id', '=', teamId)
    .orderBy('i.created_at', 'desc')
    .orderBy('i.id', 'desc')
    .execute()
  return rows.map(toInvitation)
}

/** See `MemberStorage.openInvitations`. */
export async function openInvitations(
  db: Db,
  { email }: Args<'openInvitations'>,
  now: number,
): Promise<Invitation[]> {
  const rows = await holding(db, now)
    .where('i.email_key', '=', keyOf(email))
    .orderBy('i.created_at')
    .orderBy('i.id')
    .execute()
  return rows.map(toInvitation)
}

/** See `MemberStorage.findInvitation`. */
export async function findInvitation(
  db: Db,
  { tokenHash }: Args<'findInvitation'>,
  now: number,
): Promise<FoundInvitation | undefined> {
  const row = await holding(db, now)
    .select('i.mailed_hash')
    .where((is) => is.or([is('i.token_hash', '=', tokenHash), is('i.mailed_hash', '=', tokenHash)]))
    .executeTakeFirst()
  return row && { ...toInvitation(row), byMail: row.mailed_hash === tokenHash }
}

/** See `MemberStorage.revokeInvitation`. */
export async function revokeInvitation(db: Db, { teamId, id }: Args<'revokeInvitation'>): Promise<boolean> {
  const deleted = await db
    .deleteFrom('invitations')
    .where('team_id', '=', teamId)
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return deleted.numDeletedRows > 0n
}

/** See `MemberStorage.acceptInvitation`. The unique key of users decides about a new one, the removal about the invitation. */
export async function acceptInvitation(
  db: Db,
  { id, who }: Args<'acceptInvitation'>,
  now: number,
): Promise<Joining> {
  const found = await holding(db, now).where('i.id', '=', id).executeTakeFirst()
  if (!found) return 'absent'
  if ('user' in who && !(await addUser(db, who.user))) return 'exists'
  await db.deleteFrom('invitations').where('id', '=', id).execute()
  const userId = 'user' in who ? who.user.id : who.userId
  const joined = await db
    .insertInto('members')
    .values({ team_id: found.team_id, user_id: userId, role: found.role, created_at: now })
    .onConflict((conflict) => conflict.columns(['team_id', 'user_id']).doNothing())
    .executeTakeFirstOrThrow()
  return joined.numInsertedOrUpdatedRows === 0n ? 'member' : 'joined'
}

/** A new person; false when the address is somebody's. */
export async function addUser(db: Db, user: User): Promise<boolean> {
  const added = await db
    .insertInto('users')
    .values({
      id: user.id,
      email: user.email,
      email_key: keyOf(user.email),
      password_hash: user.passwordHash ?? '',
      created_at: user.createdAt,
      proven_at: user.provenAt,
    })
    .onConflict((conflict) => conflict.column('email_key').doNothing())
    .executeTakeFirstOrThrow()
  return added.numInsertedOrUpdatedRows !== 0n
}

/** See `MemberStorage.purgeInvitations`. */
export async function purgeInvitations(db: Db, _args: object, now: number): Promise<number> {
  const deleted = await db.deleteFrom('invitations').where('expires_at', '<=', now).executeTakeFirstOrThrow()
  return Number(deleted.numDeletedRows)
}
