import type { Kysely, Selectable } from 'kysely'
import type { PasskeysTable, Tables } from '../schema.ts'
import type { FactorStorage, Passkey } from '../storage.ts'
import { findSession } from './accounts.ts'
import { weaken } from './factor-counts.ts'

type Db = Kysely<Tables>
type Args<M extends keyof FactorStorage> = Parameters<FactorStorage[M]>[0]

const toPasskey = (row: Selectable<PasskeysTable>): Passkey => ({
  id: row.id,
  userId: row.user_id,
  credentialId: row.credential_id,
  rpId: row.rp_id,
  name: row.name,
  publicKey: new Uint8Array(row.public_key),
  counter: row.counter,
  transports: JSON.parse(row.transports) as string[],
  synced: row.synced === 1,
  alone: row.alone === 1,
  createdAt: row.created_at,
  lastUsedAt: row.last_used_at,
})

/** See `FactorStorage.addPasskey`. */
export async function addPasskey(
  db: Db,
  { passkey, most, tokenHash }: Args<'addPasskey'>,
  now: number,
): Promise<'added' | 'exists' | 'full' | 'signed_out'> {
  if (tokenHash !== undefined && (await findSession(db, { tokenHash }, now))?.user.id !== passkey.userId)
    return 'signed_out'
  const there = await listPasskeys(db, passkey)
  if (there.length >= most) return 'full'
  const inserted = await db
    .insertInto('passkeys')
    .values({
      id: passkey.id,
      user_id: passkey.userId,
      credential_id: passkey.credentialId,
      rp_id: passkey.rpId,
      name: passkey.name,
      public_key: passkey.publicKey,
      counter: passkey.counter,
      transports: JSON.stringify(passkey.transports),
      synced: passkey.synced ? 1 : 0,
      alone: passkey.alone ? 1 : 0,
      created_at: passkey.createdAt,
      last_used_at: passkey.lastUsedAt,
    })
    .onConflict((conflict) => conflict.column('credential_id').doNothing())
    .executeTakeFirstOrThrow()
  return inserted.numInsertedOrUpdatedRows === 0n ? 'exists' : 'added'
}

/** See `FactorStorage.listPasskeys`. */
export async function listPasskeys(db: Db, { userId }: Args<'listPasskeys'>): Promise<Passkey[]> {
  const rows = await db
    .selectFrom('passkeys')
    .selectAll()
    .where('user_id', '=', userId)
    .orderBy('id')
    .execute()
  return rows.map(toPasskey)
}

/** See `FactorStorage.findPasskey`. */
export async function findPasskey(
  db: Db,
  { credentialId }: Args<'findPasskey'>,
): Promise<Passkey | undefined> {
  const row = await db
    .selectFrom('passkeys')
    .selectAll()
    .where('credential_id', '=', credentialId)
    .executeTakeFirst()
  return row && toPasskey(row)
}

/** See `FactorStorage.usePasskey`. */
export async function usePasskey(
  db: Db,
  { credentialId, counter, synced }: Args<'usePasskey'>,
  now: number,
): Promise<boolean> {
  const counts = counter > 0
  const updated = await db
    .updateTable('passkeys')
    .set({ counter, synced: synced ? 1 : 0, last_used_at: now })
    .where('credential_id', '=', credentialId)
    .where('counter', counts ? '<' : '=', counter)
    .executeTakeFirstOrThrow()
  return updated.numUpdatedRows > 0n
}

/** See `FactorStorage.renamePasskey`. */
export async function renamePasskey(
  db: Db,
  { userId, id, name }: Args<'renamePasskey'>,
): Promise<Passkey | undefined> {
  const row = await db
    .updateTable('passkeys')
    .set({ name })
    .where('user_id', '=', userId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
  return row && toPasskey(row)
}

/** See `FactorStorage.removePasskey`. */
export async function removePasskey(
  db: Db,
  { userId, id }: Args<'removePasskey'>,
): Promise<'removed' | 'last' | 'missing'> {
  const all = await listPasskeys(db, { userId })
  if (!all.some((passkey) => passkey.id === id)) return 'missing'
  if (all.length === 1 && !(await entersWithout(db, userId))) return 'last'
  await db.deleteFrom('passkeys').where('id', '=', id).execute()
  await weaken(db, userId)
  return 'removed'
}

/** Whether there is a way in without any passkey. */
async function entersWithout(db: Db, userId: string): Promise<boolean> {
  const user = await db
    .selectFrom('users as u')
    .select('u.password_hash')
    .select((select) =>
      select
        .selectFrom('identities as i')
        .select('i.id')
        .whereRef('i.user_id', '=', 'u.id')
        .limit(1)
        .as('identity'),
    )
    .where('u.id', '=', userId)
    .executeTakeFirst()
  return user !== undefined && (user.password_hash !== '' || user.identity !== null)
}
