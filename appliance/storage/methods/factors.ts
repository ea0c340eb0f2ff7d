import type { Kysely, Selectable } from 'kysely'
import type { Tables, TotpFactorsTable } from '../schema.ts'
import type { FactorCounts, FactorStorage, Identity, TotpFactor } from '../storage.ts'
import { countFactors, weaken } from './factor-counts.ts'
import { listIdentities } from './identities.ts'

type Db = Kysely<Tables>
type Args<M extends keyof FactorStorage> = Parameters<FactorStorage[M]>[0]

const toTotp = (row: Selectable<TotpFactorsTable>): TotpFactor => ({
  userId: row.user_id,
  secret: new Uint8Array(row.secret),
  createdAt: row.created_at,
  confirmedAt: row.confirmed_at,
  lastUsedAt: row.last_used_at,
  lastStep: row.last_step,
})

/** See `FactorStorage.startTotp`. */
export async function startTotp(
  db: Db,
  { userId, secret }: Args<'startTotp'>,
  now: number,
): Promise<'started' | 'exists'> {
  await db
    .deleteFrom('totp_factors')
    .where('user_id', '=', userId)
    .where('confirmed_at', 'is', null)
    .execute()
  const fresh = { confirmed_at: null, last_used_at: null, last_step: 0 }
  const inserted = await db
    .insertInto('totp_factors')
    .values({ user_id: userId, secret, created_at: now, ...fresh })
    .onConflict((conflict) => conflict.column('user_id').doNothing())
    .executeTakeFirstOrThrow()
  return inserted.numInsertedOrUpdatedRows === 0n ? 'exists' : 'started'
}

/** See `FactorStorage.findTotp`. */
export async function findTotp(db: Db, { userId }: Args<'findTotp'>): Promise<TotpFactor | undefined> {
  const row = await db.selectFrom('totp_factors').selectAll().where('user_id', '=', userId).executeTakeFirst()
  return row && toTotp(row)
}

/** See `FactorStorage.confirmTotp`. */
export async function confirmTotp(
  db: Db,
  { userId, step }: Args<'confirmTotp'>,
  now: number,
): Promise<boolean> {
  const updated = await db
    .updateTable('totp_factors')
    .set({ confirmed_at: now, last_used_at: now, last_step: step })
    .where('user_id', '=', userId)
    .where('confirmed_at', 'is', null)
    .executeTakeFirstOrThrow()
  return updated.numUpdatedRows > 0n
}

/** See `FactorStorage.useTotp`. */
export async function useTotp(db: Db, { userId, step }: Args<'useTotp'>, now: number): Promise<boolean> {
  const updated = await db
    .updateTable('totp_factors')
    .set({ last_used_at: now, last_step: step })
    .where('user_id', '=', userId)
    .where('confirmed_at', 'is not', null)
    .where('last_step', '<', step)
    .executeTakeFirstOrThrow()
  return updated.numUpdatedRows > 0n
}

/** See `FactorStorage.removeTotp`. */
export async function removeTotp(db: Db, { userId }: Args<'removeTotp'>): Promise<boolean> {
  const removed = await db.deleteFrom('totp_factors').where('user_id', '=', userId).executeTakeFirstOrThrow()
  if (removed.numDeletedRows === 0n) return false
  await weaken(db, userId)
  return true
}

/** See `FactorStorage.replaceRecoveryCodes`. */
export async function replaceRecoveryCodes(
  db: Db,
  { userId, hashes }: Args<'replaceRecoveryCodes'>,
  now: number,
): Promise<void> {
  await db.deleteFrom('recovery_codes').where('user_id', '=', userId).execute()
  await db
    .insertInto('recovery_codes')
    .values(hashes.map((hash) => ({ user_id: userId, code_hash: hash, created_at: now })))
    .execute()
}

/** See `FactorStorage.useRecoveryCode`. */
export async function useRecoveryCode(db: Db, { userId, hash }: Args<'useRecoveryCode'>): Promise<boolean> {
  const used = await db
    .deleteFrom('recovery_codes')
    .where('user_id', '=', userId)
    .where('code_hash', '=', hash)
    .executeTakeFirstOrThrow()
  return used.numDeletedRows > 0n
}

/** See `FactorStorage.resetFactors`. */
export async function resetFactors(
  db: Db,
  { userId, unlink }: Args<'resetFactors'>,
): Promise<FactorCounts & { identities: Identity[] }> {
  const had = await countFactors(db, { userId })
  const identities = await listIdentities(db, { userId })
  const tables = ['totp_factors', 'passkeys', 'recovery_codes', 'sessions', 'tickets'] as const
  for (const table of unlink ? ([...tables, 'identities'] as const) : tables)
    await db.deleteFrom(table).where('user_id', '=', userId).execute()
  return { ...had, identities }
}
