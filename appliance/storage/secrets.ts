import type { Db } from './schema.ts'

/** The secret of this name; `fresh` becomes it where there is none yet. All nodes of one storage get the same. */
async function secret(db: Db, args: { name: string; fresh: Uint8Array }, now: number): Promise<Uint8Array> {
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

/** Keys that the appliance made for itself. */
export const methods = {
  writes: { secret },
}
