/** Teams: what they are called and ask of their members, and who is in which. */
import type { Role } from '../mail/roles.ts'
import type { Db } from './schema.ts'

export interface Team {
  id: string
  name: string
  createdAt: number
}

/** A team with its rules. */
export interface TeamDetails extends Team {
  /** Members without a second factor may only do what is their own account's. */
  mfaRequired: boolean
  /** A name of config/plans.toml. */
  plan: string
  members: number
}

/** A team as one of its members sees it. */
export interface Membership extends Team {
  role: Role
}

/** The oldest team; undefined before set-up. */
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
 * The team that a person enters: the one asked for, where the person is its member, else the one joined first. Undefined
 * for a member of none.
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
    .select(['t.id', 't.name', 't.plan', 't.mfa_required', 't.created_at'])
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
    members: Number(row.members),
  }))
}

/** All teams, the oldest first. */
const listTeams = (db: Db): Promise<TeamDetails[]> => details(db)

async function getTeam(db: Db, { id }: { id: string }): Promise<TeamDetails | undefined> {
  const [team] = await details(db, id)
  return team
}

/** The teams of a person, the one joined first before the others. */
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

/** A team with its first owner, who is a user already. */
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

/** False when there is no such team. */
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

/** Moves a session to another team of its person; false when that is none of theirs. */
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

/** The methods of this noun (nouns.ts). */
export const methods = {
  reads: { teamToEnter, firstTeam, listTeams, getTeam, membershipsOf },
  writes: { createTeam, renameTeam, setMfaRequired, switchTeam },
}
