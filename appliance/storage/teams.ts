/** Teams, their settings, and the roles of their members. */
import { hasRight, type Role, ROLES } from '../mail/roles.ts'
import type { RuleMode } from '../mail/provider-rules.ts'
import type { Db } from './schema.ts'

export interface Team {
  id: string
  name: string
  createdAt: number
}

/** A team with its settings. */
export interface TeamDetails extends Team {
  /** Whether members without two-step sign-in can only manage their own account. */
  mfaRequired: boolean
  /** Name of a plan in config/plans.toml. */
  plan: string
  /** What happens to bulk mail that breaks rules of mailbox providers. */
  providerRules: RuleMode
  members: number
}

/** A team as one of its members sees it. */
export interface Membership extends Team {
  role: Role
}

/** Returns the oldest team; undefined before the setup. */
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

/**
 * Returns the team that a user signs in to: the requested one if the user is a member, otherwise the one joined first.
 * Undefined if the user is in no team.
 */
async function teamToEnter(
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

async function details(db: Db, id?: string): Promise<TeamDetails[]> {
  const all = db
    .selectFrom('teams as t')
    .select(['t.id', 't.name', 't.plan', 't.mfa_required', 't.provider_rules', 't.created_at'])
    .select((get) =>
      get
        .selectFrom('members as m')
        .select((count) => count.fn.countAll<number | bigint | string>().as('n'))
        .whereRef('m.team_id', '=', 't.id')
        .as('members'),
    )
    .orderBy('t.created_at')
    .orderBy('t.id')
  const rows = await (id === undefined ? all : all.where('t.id', '=', id)).execute()
  return rows.map((row) => ({
    id: row.id,
    name: row.name,
    createdAt: row.created_at,
    mfaRequired: row.mfa_required === 1,
    plan: row.plan,
    providerRules: row.provider_rules,
    members: Number(row.members),
  }))
}

/** Lists all teams, oldest first. */
const listTeams = (db: Db): Promise<TeamDetails[]> => details(db)

async function getTeam(db: Db, { id }: { id: string }): Promise<TeamDetails | undefined> {
  const [team] = await details(db, id)
  return team
}

/** Lists the teams of a user, in the order in which the user joined. */
async function membershipsOf(db: Db, { userId }: { userId: string }): Promise<Membership[]> {
  const rows = await db
    .selectFrom('members as m')
    .innerJoin('teams as t', 't.id', 'm.team_id')
    .select(['t.id', 't.name', 't.created_at', 'm.role'])
    .where('m.user_id', '=', userId)
    .orderBy('m.created_at')
    .orderBy('t.id')
    .execute()
  return rows.map(({ id, name, created_at, role }) => ({ id, name, createdAt: created_at, role }))
}

/** Creates a team with an existing user as its first owner. */
async function createTeam(
  db: Db,
  { team, ownerId }: { team: Team; ownerId: string },
  now: number,
): Promise<void> {
  await db.insertInto('teams').values({ id: team.id, name: team.name, created_at: team.createdAt }).execute()
  await db
    .insertInto('members')
    .values({ team_id: team.id, user_id: ownerId, role: 'owner', created_at: now })
    .execute()
}

/** Renames a team. Returns false if it doesn't exist. */
async function renameTeam(db: Db, { id, name }: { id: string; name: string }): Promise<boolean> {
  const updated = await db.updateTable('teams').set({ name }).where('id', '=', id).executeTakeFirstOrThrow()
  return updated.numUpdatedRows > 0n
}

async function setMfaRequired(db: Db, { id, required }: { id: string; required: boolean }): Promise<boolean> {
  const updated = await db
    .updateTable('teams')
    .set({ mfa_required: required ? 1 : 0 })
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return updated.numUpdatedRows > 0n
}

/** Sets what happens to bulk mail that breaks rules of mailbox providers. Returns false if the team doesn't exist. */
async function setProviderRules(db: Db, { id, mode }: { id: string; mode: RuleMode }): Promise<boolean> {
  const updated = await db
    .updateTable('teams')
    .set({ provider_rules: mode })
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return updated.numUpdatedRows > 0n
}

/** Moves a session to another team of its user. Returns false if the user isn't a member. */
async function switchTeam(
  db: Db,
  { tokenHash, teamId }: { tokenHash: string; teamId: string },
  now: number,
): Promise<boolean> {
  const updated = await db
    .updateTable('sessions')
    .set({ team_id: teamId })
    .where('token_hash', '=', tokenHash)
    .where('expires_at', '>', now)
    .where('user_id', 'in', (ask) =>
      ask.selectFrom('members').select('user_id').where('team_id', '=', teamId),
    )
    .executeTakeFirstOrThrow()
  return updated.numUpdatedRows > 0n
}

/** A user in a team. */
export interface Member {
  teamId: string
  userId: string
  email: string
  role: Role
  /** When the user joined the team (Unix milliseconds). */
  createdAt: number
  hasSecondFactor: boolean
}

/**
 * The result of a change. last_owner: the team would have no owner · owner: owners must not be changed · absent: no
 * such member
 */
export type MemberChangeResult = 'done' | 'last_owner' | 'owner' | 'absent'

const inTeam = (db: Db, teamId: string) =>
  db
    .selectFrom('members as m')
    .innerJoin('users as u', 'u.id', 'm.user_id')
    .leftJoin('totp_factors as f', (on) =>
      on.onRef('f.user_id', '=', 'm.user_id').on('f.confirmed_at', 'is not', null),
    )
    .select(['m.user_id', 'm.role', 'm.created_at', 'u.email', 'f.user_id as totp'])
    .select((get) =>
      get
        .selectFrom('passkeys as p')
        .select((count) => count.fn.countAll<number | bigint | string>().as('n'))
        .whereRef('p.user_id', '=', 'm.user_id')
        .as('passkeys'),
    )
    .where('m.team_id', '=', teamId)

type Row = Awaited<ReturnType<ReturnType<typeof inTeam>['execute']>>[number]

const toMember = (teamId: string, row: Row): Member => ({
  teamId,
  userId: row.user_id,
  email: row.email,
  role: row.role,
  createdAt: row.created_at,
  hasSecondFactor: row.totp !== null || Number(row.passkeys) > 0,
})

/** Lists members, owners first, then by address. */
async function listMembers(db: Db, { teamId }: { teamId: string }): Promise<Member[]> {
  const rows = await inTeam(db, teamId).orderBy('u.email_key').execute()
  return rows
    .map((row) => toMember(teamId, row))
    .sort((a, b) => ROLES.indexOf(a.role) - ROLES.indexOf(b.role))
}

async function getMember(
  db: Db,
  { teamId, userId }: { teamId: string; userId: string },
): Promise<Member | undefined> {
  const row = await inTeam(db, teamId).where('m.user_id', '=', userId).executeTakeFirst()
  return row && toMember(teamId, row)
}

interface Touched {
  teamId: string
  userId: string
  spareOwners: boolean
  /** The new role; null to remove the member. */
  role: Role | null
}

/**
 * Returns why a change of a member isn't allowed; null if it is. Write transactions run one after the other, so the
 * result stays valid within a transaction.
 */
async function obstacle(db: Db, touched: Touched): Promise<Exclude<MemberChangeResult, 'done'> | null> {
  const { teamId, userId } = touched
  const rows = await db
    .selectFrom('members')
    .select(['user_id', 'role'])
    .where('team_id', '=', teamId)
    .execute()
  const one = rows.find((row) => row.user_id === userId)
  if (!one) return 'absent'
  if (one.role !== 'owner' || touched.role === 'owner') return null
  if (touched.spareOwners) return 'owner'
  return rows.some((row) => row.role === 'owner' && row.user_id !== userId) ? null : 'last_owner'
}

/**
 * Deletes the open invitations that a member sent.
 * @param to the offered role; undefined for any
 */
async function dropInvitationsBy(
  db: Db,
  { teamId, userId }: { teamId: string; userId: string },
  to?: Role,
): Promise<void> {
  const sent = db.deleteFrom('invitations').where('team_id', '=', teamId).where('invited_by', '=', userId)
  await (to === undefined ? sent : sent.where('role', '=', to)).execute()
}

/**
 * Changes a role. A team always keeps an owner. If the new role can't invite members, deletes all open invitations that
 * the member sent; if a member is no longer an owner, deletes those for owners.
 * @param args spareOwners: don't change owners
 */
async function setRole(
  db: Db,
  args: { teamId: string; userId: string; role: Role; spareOwners: boolean },
): Promise<MemberChangeResult> {
  const { teamId, userId, role } = args
  const against = await obstacle(db, args)
  if (against) return against
  await db
    .updateTable('members')
    .set({ role })
    .where('team_id', '=', teamId)
    .where('user_id', '=', userId)
    .execute()
  if (!hasRight(role, 'members')) await dropInvitationsBy(db, args)
  // Only owners can create owners. A former owner's invitation could make the member an owner again.
  else if (role !== 'owner') await dropInvitationsBy(db, args, 'owner')
  return 'done'
}

/**
 * Removes a member, the member's sessions in the team, and the invitations that the member sent. A team always keeps an
 * owner.
 */
async function removeMember(
  db: Db,
  args: { teamId: string; userId: string; spareOwners: boolean },
): Promise<MemberChangeResult> {
  const { teamId, userId } = args
  const against = await obstacle(db, { ...args, role: null })
  if (against) return against
  for (const table of ['members', 'sessions'] as const)
    await db.deleteFrom(table).where('team_id', '=', teamId).where('user_id', '=', userId).execute()
  await dropInvitationsBy(db, args)
  return 'done'
}

export const methods = {
  reads: { teamToEnter, firstTeam, listTeams, getTeam, membershipsOf, listMembers, getMember },
  writes: { createTeam, renameTeam, setMfaRequired, setProviderRules, switchTeam, setRole, removeMember },
}
