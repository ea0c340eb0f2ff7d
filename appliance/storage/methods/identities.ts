import type { Kysely, Selectable } from 'kysely'
import type { IdentitiesTable, Tables } from '../schema.ts'
import type { Admission, Identity, IdentityStorage } from '../storage.ts'
import { acceptInvitation, addUser, openInvitations } from './invitations.ts'

type Db = Kysely<Tables>
type Args<M extends keyof IdentityStorage> = Parameters<IdentityStorage[M]>[0]

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

/** See `IdentityStorage.findIdentity`. */
export async function findIdentity(db: Db, args: Args<'findIdentity'>): Promise<Identity | undefined> {
  const row = await db
    .selectFrom('identities')
    .selectAll()
    .where('issuer', '=', args.issuer)
    .where('subject', '=', args.subject)
    .executeTakeFirst()
  return row && toIdentity(row)
}

/** See `IdentityStorage.listIdentities`. */
export async function listIdentities(db: Db, { userId }: Args<'listIdentities'>): Promise<Identity[]> {
  const rows = await db
    .selectFrom('identities')
    .selectAll()
    .where('user_id', '=', userId)
    .orderBy('id')
    .execute()
  return rows.map(toIdentity)
}

/** See `IdentityStorage.linkIdentity`. */
export async function linkIdentity(db: Db, { identity }: Args<'linkIdentity'>): Promise<'linked' | 'taken'> {
  const there = await findIdentity(db, identity)
  if (there && there.userId !== identity.userId) return 'taken'
  if (there) {
    const { provider, email } = identity
    await db.updateTable('identities').set({ provider, email }).where('id', '=', there.id).execute()
  } else await insert(db, identity)
  return 'linked'
}

/** See `IdentityStorage.useIdentity`. */
export async function useIdentity(db: Db, { id, email }: Args<'useIdentity'>, now: number): Promise<void> {
  await db.updateTable('identities').set({ email, last_used_at: now }).where('id', '=', id).execute()
}

/** See `IdentityStorage.unlinkIdentity`. */
export async function unlinkIdentity(
  db: Db,
  { userId, id, providers, keep }: Args<'unlinkIdentity'>,
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

/** Whether there is a way in without any provider. */
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

/** See `IdentityStorage.admitNewcomer`. */
export async function admitNewcomer(
  db: Db,
  { user, identity, join }: Args<'admitNewcomer'>,
  now: number,
): Promise<Admission[] | undefined> {
  const invited = await openInvitations(db, user, now)
  const joins = invited.length === 0 && join !== null && (await isTeam(db, join.teamId))
  if (invited.length === 0 && !joins) return undefined
  if (await findIdentity(db, identity)) return undefined
  if (!(await addUser(db, user))) return undefined
  await insert(db, identity)
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

async function insert(db: Db, identity: Identity): Promise<void> {
  await db
    .insertInto('identities')
    .values({
      id: identity.id,
      user_id: identity.userId,
      provider: identity.provider,
      issuer: identity.issuer,
      subject: identity.subject,
      email: identity.email,
      created_at: identity.createdAt,
      last_used_at: identity.lastUsedAt,
    })
    .execute()
}
