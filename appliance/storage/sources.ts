/** The sending IPs, and which mail uses which pool. They belong to the server, not to a team. */
import { type Selectable, sql, type Updateable } from 'kysely'
import type { Assignment, Source, SourceHealth } from '../mail/source.ts'
import type { Db, PoolAssignmentsTable, SourcesTable } from './schema.ts'

/** The changeable fields of a sending IP. Absent fields are left unchanged. */
export type SourceChange = Partial<Omit<Source, 'ip' | 'origin'>>

const toSource = (row: Selectable<SourcesTable>): Source => ({
  ip: row.ip,
  pool: row.pool,
  hostname: row.hostname,
  state: row.state,
  stateReason: row.state_reason,
  suspendedBy: row.suspended_by,
  warmUpSince: row.warm_up_since,
  origin: row.origin,
  health: row.health === null ? null : (JSON.parse(row.health) as SourceHealth),
  checkedAt: row.checked_at,
})

const text = (health: SourceHealth | null): string | null => health && JSON.stringify(health)

/** Returns the columns of only the given fields. */
function columnsOf({ health, ...change }: SourceChange): Updateable<SourcesTable> {
  const columns = {
    pool: change.pool,
    hostname: change.hostname,
    state: change.state,
    state_reason: change.stateReason,
    suspended_by: change.suspendedBy,
    warm_up_since: change.warmUpSince,
    health: health === undefined ? undefined : text(health),
    checked_at: change.checkedAt,
  }
  return Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== undefined))
}

/** Lists the sending IPs of one node or of all, by pool and address. */
async function listSources(db: Db, { nodeId }: { nodeId?: string | undefined }): Promise<Source[]> {
  let query = db.selectFrom('sources').selectAll()
  if (nodeId !== undefined) query = query.where('node_id', '=', nodeId)
  const rows = await query.orderBy('pool').orderBy('ip').execute()
  return rows.map(toSource)
}

/** Adds a sending IP to a node and returns true. If the address exists, changes nothing and returns false. */
async function addSource(db: Db, { source, nodeId }: { source: Source; nodeId: string }): Promise<boolean> {
  const { ip, origin, ...rest } = source
  const added = await db
    .insertInto('sources')
    .values({
      ip,
      node_id: nodeId,
      origin,
      ...(columnsOf(rest) as Omit<SourcesTable, 'ip' | 'node_id' | 'origin'>),
    })
    .onConflict((conflict) => conflict.column('ip').doNothing())
    .executeTakeFirstOrThrow()
  return (added.numInsertedOrUpdatedRows ?? 0n) > 0n
}

/**
 * Adds a sending IP if its pool has no other one; otherwise removes it. This is decided within the transaction, because
 * other processes may change the pool at any time.
 */
async function keepWayOut(db: Db, args: { source: Source; nodeId: string }): Promise<void> {
  const { source } = args
  const other = await db
    .selectFrom('sources')
    .select('ip')
    .where('pool', '=', source.pool)
    .where('ip', '!=', source.ip)
    .limit(1)
    .executeTakeFirst()
  if (other) await removeSource(db, source)
  else await addSource(db, args)
}

/**
 * Changes a sending IP. Returns false if it doesn't exist. With `seen`, changes it only if its state and who suspended it
 * are still the same, because a check must not undo an operator's change made meanwhile.
 */
async function saveSource(
  db: Db,
  {
    ip,
    change,
    seen,
  }: { ip: string; change: SourceChange; seen?: Pick<Source, 'state' | 'suspendedBy'> | undefined },
): Promise<boolean> {
  // SQL has no empty update, so set the row's own address.
  let query = db
    .updateTable('sources')
    .set({ ip, ...columnsOf(change) })
    .where('ip', '=', ip)
  if (seen)
    query = query
      .where('state', '=', seen.state)
      .where('suspended_by', seen.suspendedBy === null ? 'is' : '=', seen.suspendedBy)
  const updated = await query.executeTakeFirstOrThrow()
  return updated.numUpdatedRows > 0n
}

/** Removes a sending IP. Returns false if it doesn't exist. */
async function removeSource(db: Db, { ip }: { ip: string }): Promise<boolean> {
  const deleted = await db.deleteFrom('sources').where('ip', '=', ip).executeTakeFirstOrThrow()
  return deleted.numDeletedRows > 0n
}

const toAssignment = (row: Selectable<PoolAssignmentsTable>): Assignment => ({
  id: row.id,
  teamId: row.team_id,
  domainId: row.domain_id,
  stream: row.stream,
  pool: row.pool,
})

/** Lists all assignments, oldest first. */
async function listAssignments(db: Db): Promise<Assignment[]> {
  const rows = await db.selectFrom('pool_assignments').selectAll().orderBy('id').execute()
  return rows.map(toAssignment)
}

/** The columns that identify an assignment, as in the unique index `pool_assignments_about`. */
const ABOUT = sql`coalesce(team_id, ''), coalesce(domain_id, ''), coalesce(stream, '')`

/**
 * Adds an assignment, or changes the pool of the existing one for the same mail, and returns what is stored. Returns
 * undefined if the team or domain doesn't exist, or the domain belongs to another team.
 */
async function saveAssignment(
  db: Db,
  { assignment }: { assignment: Assignment },
): Promise<Assignment | undefined> {
  const { id, teamId, domainId, stream, pool } = assignment
  if (!(await ownersExist(db, assignment))) return undefined
  const row = await db
    .insertInto('pool_assignments')
    .values({ id, team_id: teamId, domain_id: domainId, stream, pool })
    .onConflict((conflict) => conflict.expression(ABOUT).doUpdateSet({ pool }))
    .returningAll()
    .executeTakeFirstOrThrow()
  return toAssignment(row)
}

async function ownersExist(db: Db, { teamId, domainId }: Assignment): Promise<boolean> {
  if (domainId !== null) {
    let query = db.selectFrom('domains').select('id').where('id', '=', domainId)
    if (teamId !== null) query = query.where('team_id', '=', teamId)
    return (await query.executeTakeFirst()) !== undefined
  }
  if (teamId === null) return true
  return (await db.selectFrom('teams').select('id').where('id', '=', teamId).executeTakeFirst()) !== undefined
}

/** Removes an assignment. Returns false if it doesn't exist. */
async function removeAssignment(db: Db, { id }: { id: string }): Promise<boolean> {
  const deleted = await db.deleteFrom('pool_assignments').where('id', '=', id).executeTakeFirstOrThrow()
  return deleted.numDeletedRows > 0n
}

export const methods = {
  reads: { listSources, listAssignments },
  writes: { addSource, keepWayOut, saveSource, removeSource, saveAssignment, removeAssignment },
}
