/** What must run once, however many nodes share the storage: who does it now. */
import { sql } from 'kysely'
import { nodeOf } from '../mail/owner.ts'
import type { Db } from './schema.ts'

/** Owners of a node are those between these two: `/` ends its name, and `0` comes after it. */
const runsOf = (owner: string) => ({ first: `${nodeOf(owner)}/`, end: `${nodeOf(owner)}0` })

/**
 * Takes a duty, or keeps it, for so many milliseconds from now on: one that nobody has, whose time is over, or that a run of the same node
 * has; only one of those is alive. Returns the term, which grows with every change of hands; null: another node has the duty.
 */
async function takeDuty(
  db: Db,
  { name, owner, forMs }: { name: string; owner: string; forMs: number },
  now: number,
): Promise<number | null> {
  const { first, end } = runsOf(owner)
  const until = now + forMs
  const taken = await db
    .insertInto('duties')
    .values({ name, owner, term: 1, until })
    .onConflict((conflict) =>
      conflict
        .column('name')
        .doUpdateSet({
          ...{ owner, until },
          term: sql`case when duties.owner = ${owner} then duties.term else duties.term + 1 end`,
        })
        .where((where) =>
          where.or([
            where('duties.until', '<=', now),
            where.and([where('duties.owner', '>=', first), where('duties.owner', '<', end)]),
          ]),
        ),
    )
    .returning('term')
    .executeTakeFirst()
  return taken?.term ?? null
}

/** Gives back all duties of an owner: whoever asks next has them. Terms go on. */
async function releaseDuties(db: Db, { owner }: { owner: string }): Promise<void> {
  await db.updateTable('duties').set({ until: 0 }).where('owner', '=', owner).execute()
}

/** The methods of this noun (nouns.ts). */
export const methods = {
  writes: { takeDuty, releaseDuties },
}
