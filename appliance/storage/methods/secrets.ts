import type { Kysely } from 'kysely'
import type { Tables } from '../schema.ts'

/** See `Storage.secret`. */
export async function secret(
  db: Kysely<Tables>,
  args: { name: string; fresh: Uint8Array },
  now: number,
): Promise<Uint8Array> {
  await db
    .insertInto('secrets')
    .values({ name: args.name, value: args.fresh, created_at: now })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute()
  const row = await db
    .selectFrom('secrets')
    .select('value')
    .where('name', '=', args.name)
    .executeTakeFirstOrThrow()
  return new Uint8Array(row.value)
}
