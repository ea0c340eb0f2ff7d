/** The regions of pools, and the regions that are failed over to another one. They belong to the server, not to a team. */
import type { NewAuditEntry } from '../mail/audit.ts'
import type { PoolRegion, RegionFailover, RegionMap } from '../mail/region.ts'
import { appendAudit } from './audit.ts'
import type { Db } from './schema.ts'

/** Reads the regions of all pools, and the regions that are failed over. */
async function regionMap(db: Db): Promise<RegionMap> {
  const pools = await db.selectFrom('pool_regions').selectAll().orderBy('pool').execute()
  const failovers = await db.selectFrom('region_failovers').selectAll().orderBy('region').execute()
  return {
    pools,
    failovers: failovers.map(({ audit_id: auditId, ...failover }): RegionFailover => ({
      ...failover,
      auditId,
    })),
  }
}

/** Puts a pool in a region, or in none if `region` is null. The pool need not have a sending IP yet. */
async function setPoolRegion(
  db: Db,
  { pool, region }: Pick<PoolRegion, 'pool'> & { region: string | null },
): Promise<void> {
  if (region === null) {
    await db.deleteFrom('pool_regions').where('pool', '=', pool).execute()
    return
  }
  await db
    .insertInto('pool_regions')
    .values({ pool, region })
    .onConflict((conflict) => conflict.column('pool').doUpdateSet({ region }))
    .execute()
}

/**
 * Records that a region is failed over, with its audit entry. Returns false if it already is, so that only one of two
 * nodes begins it.
 */
async function beginFailover(
  db: Db,
  { failover, entry }: { failover: RegionFailover; entry: NewAuditEntry },
): Promise<boolean> {
  const { auditId, ...columns } = failover
  const begun = await db
    .insertInto('region_failovers')
    .values({ ...columns, audit_id: auditId })
    .onConflict((conflict) => conflict.column('region').doNothing())
    .executeTakeFirstOrThrow()
  if ((begun.numInsertedOrUpdatedRows ?? 0n) === 0n) return false
  await appendAudit(db, { entry })
  return true
}

/** Ends the fail-over of a region, with an audit entry. Returns false if it was already over. */
async function endFailover(
  db: Db,
  { region, entry }: { region: string; entry: NewAuditEntry },
): Promise<boolean> {
  const ended = await db.deleteFrom('region_failovers').where('region', '=', region).executeTakeFirstOrThrow()
  if (ended.numDeletedRows === 0n) return false
  await appendAudit(db, { entry })
  return true
}

export const methods = {
  reads: { regionMap },
  writes: { setPoolRegion, beginFailover, endFailover },
}
