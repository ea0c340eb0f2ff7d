import type { Kysely } from 'kysely'
import type { Tables } from '../schema.ts'
import type { MemberStorage, Membership, TeamDetails } from '../storage.ts'

type Db = Kysely<Tables>
type Args<M extends keyof MemberStorage> = Parameters<MemberStorage[M]>[0]

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

/** See `MemberStorage.listTeams`. */
export const listTeams = (db: Db): Promise<TeamDetails[]> => details(db)

/** See `MemberStorage.getTeam`. */
export async function getTeam(db: Db, { id }: Args<'getTeam'>): Promise<TeamDetails | undefined> {
  const [team] = await details(db, id)
  return team
}

/** See `MemberStorage.membershipsOf`. */
export async function membershipsOf(db: Db, { userId }: Args<'membershipsOf'>): Promise<Membership[]> {
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

/** See `MemberStorage.createTeam`. */
export async function createTeam(db: Db, { team, ownerId }: Args<'createTeam'>, now: number): Promise<void> {
  await db.insertInto('teams').values({ id: team.id, name: team.name, created_at: team.createdAt }).execute()
  await db
    .insertInto('members')
    .values({ team_id: team.id, user_id: ownerId, role: 'owner', created_at: now })
    .execute()
}

/** See `MemberStorage.renameTeam`. */
export async function renameTeam(db: Db, { id, name }: Args<'renameTeam'>): Promise<boolean> {
  const updated = await db.updateTable('teams').set({ name }).where('id', '=', id).executeTakeFirstOrThrow()
  return updated.numUpdatedRows > 0n
}

/** See `MemberStorage.setMfaRequired`. */
export async function setMfaRequired(db: Db, { id, required }: Args<'setMfaRequired'>): Promise<boolean> {
  const updated = await db
    .updateTable('teams')
    .set({ mfa_required: required ? 1 : 0 })
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return updated.numUpdatedRows > 0n
}

/** See `MemberStorage.switchTeam`. */
export async function switchTeam(
  db: Db,
  { tokenHash, teamId }: Args<'switchTeam'>,
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
