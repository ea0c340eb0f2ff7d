/** Invitations to teams. */
import type { Role } from '../mail/roles.ts'
import type { User } from './accounts.ts'
import type { Db } from './schema.ts'

/** An invitation to join a team. The link contains the token; only its SHA-256 is stored. */
export interface Invitation {
  id: string
  teamId: string
  teamName: string
  email: string
  role: Role
  /** Address of the inviter; null if the command line created the invitation, or if the inviter was deleted. */
  invitedBy: string | null
  createdAt: number
  expiresAt: number
}

/** An invitation, and which of its two links was used. */
export interface FoundInvitation extends Invitation {
  /** Whether the link from the email was used. */
  byMail: boolean
}

/** An invitation to store. */
export interface NewInvitation {
  id: string
  teamId: string
  email: string
  role: Role
  /** User ID of the inviter; null for the command line. */
  invitedBy: string | null
  tokenHash: string
  /** Hash for the link in the email, which proves that its user reads mail to that address. Null if no email is sent. */
  mailedHash: string | null
  createdAt: number
  expiresAt: number
}

/**
 * joined: is a member now · member: was already a member, role unchanged · absent: the invitation doesn't exist or has
 * expired · exists: a user already has the address
 */
export type JoinResult = 'joined' | 'member' | 'absent' | 'exists'

const keyOf = (email: string): string => email.toLowerCase()

/** Selects invitations that haven't expired. */
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

/**
 * Creates an invitation. Replaces an earlier invitation of the same address to the team. Returns `member` if the address
 * belongs to a member.
 * @param args most: maximum number of open invitations of a team; returns `full` if it is reached
 * @param args spareOwners: don't replace an invitation as an owner; returns `owner` if there is one
 */
async function invite(
  db: Db,
  {
    invitation,
    most,
    spareOwners = false,
  }: { invitation: NewInvitation; most: number; spareOwners?: boolean },
  now: number,
): Promise<'invited' | 'member' | 'full' | 'owner'> {
  const { id, teamId, email, role, invitedBy, tokenHash, mailedHash, createdAt, expiresAt } = invitation
  const member = await db
    .selectFrom('members as m')
    .innerJoin('users as u', 'u.id', 'm.user_id')
    .select('u.id')
    .where('m.team_id', '=', teamId)
    .where('u.email_key', '=', keyOf(email))
    .executeTakeFirst()
  if (member) return 'member'
  if (spareOwners && (await invitesOwner(db, invitation, now))) return 'owner'
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
      id,
      team_id: teamId,
      email,
      email_key: keyOf(email),
      role,
      invited_by: invitedBy,
      token_hash: tokenHash,
      mailed_hash: mailedHash,
      created_at: createdAt,
      expires_at: expiresAt,
    })
    .execute()
  return 'invited'
}

/** Whether the address is invited to the team as an owner. */
async function invitesOwner(
  db: Db,
  { teamId, email }: Pick<NewInvitation, 'teamId' | 'email'>,
  now: number,
): Promise<boolean> {
  const found = await holding(db, now)
    .where('i.team_id', '=', teamId)
    .where('i.email_key', '=', keyOf(email))
    .where('i.role', '=', 'owner')
    .executeTakeFirst()
  return found !== undefined
}

/** Lists the open invitations of a team, newest first. */
async function listInvitations(db: Db, { teamId }: { teamId: string }, now: number): Promise<Invitation[]> {
  const rows = await holding(db, now)
    .where('i.team_id', '=', teamId)
    .orderBy('i.created_at', 'desc')
    .orderBy('i.id', 'desc')
    .execute()
  return rows.map(toInvitation)
}

/** Lists the open invitations of an address, ignoring case. */
export async function openInvitations(
  db: Db,
  { email }: { email: string },
  now: number,
): Promise<Invitation[]> {
  const rows = await holding(db, now)
    .where('i.email_key', '=', keyOf(email))
    .orderBy('i.created_at')
    .orderBy('i.id')
    .execute()
  return rows.map(toInvitation)
}

/** Finds an open invitation by either of its links. */
async function findInvitation(
  db: Db,
  { tokenHash }: { tokenHash: string },
  now: number,
): Promise<FoundInvitation | undefined> {
  const row = await holding(db, now)
    .select('i.mailed_hash')
    .where((is) => is.or([is('i.token_hash', '=', tokenHash), is('i.mailed_hash', '=', tokenHash)]))
    .executeTakeFirst()
  return row && { ...toInvitation(row), byMail: row.mailed_hash === tokenHash }
}

/** Revokes an invitation. Returns false if the team has no such invitation. */
async function revokeInvitation(db: Db, { teamId, id }: { teamId: string; id: string }): Promise<boolean> {
  const deleted = await db
    .deleteFrom('invitations')
    .where('team_id', '=', teamId)
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return deleted.numDeletedRows > 0n
}

/**
 * Makes the invited person a member and deletes the invitation. Only one of several concurrent calls succeeds. The caller
 * must have checked that the person owns the address.
 * @param args who: a new user, who is stored in the same transaction, or the ID of a user. If calls are concurrent, the
 * unique key of users decides who is created, and the deletion who uses the invitation.
 */
export async function acceptInvitation(
  db: Db,
  { id, who }: { id: string; who: { user: User } | { userId: string } },
  now: number,
): Promise<JoinResult> {
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

/** Stores a new user. Returns false if the address already belongs to a user. */
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

/** Deletes expired invitations and returns their number. */
async function purgeInvitations(db: Db, _args: object, now: number): Promise<number> {
  const deleted = await db.deleteFrom('invitations').where('expires_at', '<=', now).executeTakeFirstOrThrow()
  return Number(deleted.numDeletedRows)
}

export const methods = {
  reads: { listInvitations, openInvitations, findInvitation },
  writes: { invite, revokeInvitation, acceptInvitation, purgeInvitations },
}
