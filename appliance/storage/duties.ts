/** Leases for work that only one node may do at a time. */
import { sql, type SqlBool } from 'kysely'
import { getOwnerNode } from '../mail/ids.ts'
import type { Db } from './schema.ts'

/** The clock of the database in Unix milliseconds, which all nodes share. */
export const databaseClock = sql<number>`cast(unixepoch('subsec') * 1000 as bigint)`

/** Returns the range of owner names of the same node. `0` is the character after `/`. */
export const getOwnerRange = (owner: string) => ({
  first: `${getOwnerNode(owner)}/`,
  end: `${getOwnerNode(owner)}0`,
})

/**
 * Takes or renews a duty for `forMs` milliseconds. A duty can be taken if it is free or expired, or if its owner is a run
 * of the same node, since only one run of a node can be alive. It can also be taken if its owner's node is stopped or
 * lost (no heartbeat for `lostAfter` milliseconds). Returns the term, which increases with each change of owner, or null
 * if another node has the duty.
 */
async function takeDuty(
  db: Db,
  { name, owner, forMs, lostAfter }: { name: string; owner: string; forMs: number; lostAfter: number },
  now: number,
): Promise<number | null> {
  const { first, end } = getOwnerRange(owner)
  const until = now + forMs
  const ofGoneNode = sql<SqlBool>`exists (select 1 from nodes
    where duties.owner >= nodes.id || '/' and duties.owner < nodes.id || '0' and nodes.started_at is not null
    and (nodes.state = 'stopped' or nodes.heartbeat_at <= ${databaseClock} - ${lostAfter}))`
  const taken = await db
    .insertInto('duties')
    .values({ name, owner, term: 1, until })
    .onConflict((conflict) =>
      conflict
        .column('name')
        .doUpdateSet({
          owner,
          until,
          term: sql`case when duties.owner = ${owner} then duties.term else duties.term + 1 end`,
        })
        .where((where) =>
          where.or([
            where('duties.until', '<=', now),
            where.and([where('duties.owner', '>=', first), where('duties.owner', '<', end)]),
            ofGoneNode,
          ]),
        ),
    )
    .returning('term')
    .executeTakeFirst()
  return taken?.term ?? null
}

/** Releases all duties of an owner, so that the next owner can take them. Their terms are kept. */
async function releaseDuties(db: Db, { owner }: { owner: string }): Promise<void> {
  await db.updateTable('duties').set({ until: 0 }).where('owner', '=', owner).execute()
}

export const methods = {
  writes: { takeDuty, releaseDuties },
}
