/** Invitations to teams, from the mail to the new member. */
import type { Role } from '../mail/roles.ts'
import type { User } from './accounts.ts'
import type { Db } from './schema.ts'

/** Somebody may join. The token is in the link; only its SHA-256 is stored. */
export interface Invitation {
  id: string
  teamId: string
  teamName: string
  email: string
  role: Role
  /** The address of who invited; null: the command line, or somebody who is no user any more. */
  invitedBy: string | null
  createdAt: number
  expiresAt: number
}

/** An invitation, and by which of its links it was found. */
export interface FoundInvitation extends Invitation {
  /** By the one that only the mail held. */
  byMail: boolean
}

/** What is stored of a new invitation. */
export interface NewInvitation {
  id: string
  teamId: string
  email: string
  role: Role
  /** Id of a user; null: the command line. */
  invitedBy: string | null
  tokenHash: string
  /** Of the link that only the mail holds: whoever has it reads what is sent to that address. Null: none is mailed. */
  mailedHash: string | null
  createdAt: number
  expiresAt: number
}

/** joined: a member now · member: was one before, with the role unchanged · absent: gone or expired · exists: that address is a user's */
export type Joining = 'joined' | 'member' | 'absent' | 'exists'

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

/**
 * Takes the place of an earlier invitation of that address to that team; `member` when it is a member's.
 * @param args most: open invitations of a team; `full` beyond
 * @param args spareOwners: one that makes an owner is not replaced; `owner` when there is one
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
      ...{ id, team_id: teamId, email, email_key: keyOf(email), role, invited_by: invitedBy },
      ...{ token_hash: tokenHash, mailed_hash: mailedHash, created_at: createdAt, expires_at: expiresAt },
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

/** Those of a team that hold, the newest first. */
async function listInvitations(db: Db, { teamId }: { teamId: string }, now: number): Promise<Invitation[]> {
  const rows = await holding(db, now)
    .where('i.team_id', '=', teamId)
    .orderBy('i.created_at', 'desc')
    .orderBy('i.id', 'desc')
    .execute()
  return rows.map(toInvitation)
}

/** Those for an address, in any case of its letters, that hold. */
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

/** By either of its links. Undefined when it does not hold any more. */
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

/** False when the team has none such. */
async function revokeInvitation(db: Db, { teamId, id }: { teamId: string; id: string }): Promise<boolean> {
  const deleted = await db
    .deleteFrom('invitations')
    .where('team_id', '=', teamId)
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return deleted.numDeletedRows > 0n
}

/**
 * Makes a member of somebody invited, and the invitation is gone: of several callers exactly one joins. The caller has
 * seen that the person is the one with that address.
 * @param args who: a new user, who is stored in the same step, or the id of one
 * The unique key of users decides about a new one, the removal about the invitation.
 */
export async function acceptInvitation(
  db: Db,
  { id, who }: { id: string; who: { user: User } | { userId: string } },
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

/** Removes expired ones; returns how many. */
async function purgeInvitations(db: Db, _args: object, now: number): Promise<number> {
  const deleted = await db.deleteFrom('invitations').where('expires_at', '<=', now).executeTakeFirstOrThrow()
  return Number(deleted.numDeletedRows)
}

/** The methods of this noun (nouns.ts). */
export const methods = {
  reads: { listInvitations, openInvitations, findInvitation },
  writes: { invite, revokeInvitation, acceptInvitation, purgeInvitations },
}
