import type { Kysely } from 'kysely'
import type { Tables } from '../schema.ts'
import type { FactorCounts, FactorStorage } from '../storage.ts'

type Db = Kysely<Tables>
type Args<M extends keyof FactorStorage> = Parameters<FactorStorage[M]>[0]

/** See `FactorStorage.countFactors`. */
export async function countFactors(db: Db, { userId }: Args<'countFactors'>): Promise<FactorCounts> {
  const totp = await db
    .selectFrom('totp_factors')
    .select('user_id')
    .where('user_id', '=', userId)
    .where('confirmed_at', 'is not', null)
    .executeTakeFirst()
  const count = (table: 'passkeys' | 'recovery_codes') =>
    db
      .selectFrom(table)
      .select((get) => get.fn.countAll<number | bigint | string>().as('n'))
      .where('user_id', '=', userId)
      .executeTakeFirstOrThrow()
  const passkeys = await count('passkeys')
  const codes = await count('recovery_codes')
  return { totp: totp !== undefined, passkeys: Number(passkeys.n), recoveryCodes: Number(codes.n) }
}

/** See `FactorStorage.hasSecondFactor`. */
export async function hasSecondFactor(db: Db, args: Args<'hasSecondFactor'>): Promise<boolean> {
  const { totp, passkeys } = await countFactors(db, args)
  return totp || passkeys > 0
}

/**
 * After a factor is gone: where none is left, the recovery codes go too, and the sessions that it made strong are so no
 * more, whatever they began with. What a provider vouches for stays.
 */
export async function weaken(db: Db, userId: string): Promise<void> {
  if (await hasSecondFactor(db, { userId })) return
  await db.deleteFrom('recovery_codes').where('user_id', '=', userId).execute()
  await db.updateTable('sessions').set({ strong: 0 }).where('user_id', '=', userId).execute()
}
