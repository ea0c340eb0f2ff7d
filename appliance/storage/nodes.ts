/**
 * Nodes: installations that share one storage. On SQLite there is only one, and only its ID is used. On PostgreSQL, each
 * has a row that its daemon renews. Times of nodes come from the database's clock, so that all nodes use the same clock.
 */
import { sql, type SqlBool } from 'kysely'
import type { Cause } from '../mail/verdict.ts'
import { databaseClock, getOwnerRange } from './duties.ts'
import type { Db } from './schema.ts'
import { voidMatchingLeases } from './spool/settle.ts'

/** Returns the ID of the only node of a SQLite database, which its backups share. */
async function thisNode(db: Db): Promise<string> {
  const { id } = await db.selectFrom('nodes').select('id').orderBy('id').limit(1).executeTakeFirstOrThrow()
  return id
}

/** A node that has joined at least once. Times are in Unix milliseconds, by the clock of the database. */
export interface StoredNode {
  id: string
  name: string
  state: 'active' | 'leaving' | 'stopped'
  startedAt: number
  heartbeatAt: number
  /** JSON, as the node wrote it. */
  facts: string | null
  /** The sending IPs of the node. */
  sources: string[]
}

/** Identifies a run of a node. */
export interface NodeRun {
  id: string
  run: string
}

/** The result of renewing a node's row. */
export interface RenewalResult {
  /** The clock of the database, in Unix milliseconds. */
  at: number
  /** Number of nodes that aren't lost, including this one. */
  alive: number
  /** Whether the leases of a stopped or lost node still have to be freed. */
  lost: boolean
}

/** How to free leases: see `voidLeases`. A node is lost after `lostAfter` milliseconds without a heartbeat. */
export interface FreeLeasesArgs {
  lostAfter: number
  cause: Cause
  firstDueAt: number
}

async function readClock(db: Db): Promise<number> {
  const { rows } = await sql<{ at: number }>`select ${databaseClock} as at`.execute(db)
  return rows[0]!.at
}

/** Lists all nodes by name. */
async function listNodes(db: Db): Promise<StoredNode[]> {
  const nodes = await db
    .selectFrom('nodes')
    .selectAll()
    .where('started_at', 'is not', null)
    .orderBy('name')
    .orderBy('id')
    .execute()
  const sources = await db.selectFrom('sources').select(['ip', 'node_id']).orderBy('ip').execute()
  return nodes.map(({ id, name, state, started_at: startedAt, heartbeat_at: heartbeatAt, facts }) => ({
    id,
    name,
    state,
    startedAt: startedAt!,
    heartbeatAt: heartbeatAt!,
    facts,
    sources: sources.filter((one) => one.node_id === id).map(({ ip }) => ip),
  }))
}

/**
 * Adds the node, or starts a new run of it. Takes over the sending IPs of nodes that have never joined, which come from a
 * database that was moved from SQLite. Returns the database's time.
 */
async function joinNode(
  db: Db,
  { id, run, name, facts }: NodeRun & { name: string; facts: string },
  now: number,
): Promise<number> {
  const at = await readClock(db)
  const joined = { name, run, facts, state: 'active', started_at: at, heartbeat_at: at, voided: 0 } as const
  await db
    .insertInto('nodes')
    .values({ id, created_at: now, ...joined })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(joined))
    .execute()
  const others = db.selectFrom('nodes').select('id').where('started_at', 'is', null)
  await db.updateTable('sources').set({ node_id: id }).where('node_id', 'in', others).execute()
  await db.deleteFrom('nodes').where('started_at', 'is', null).execute()
  return at
}

/** Renews the row of a run. Returns undefined if the row was deleted or belongs to another run. */
async function renewNode(
  db: Db,
  {
    id,
    run,
    state,
    facts,
    lostAfter,
  }: NodeRun & {
    state: 'active' | 'leaving'
    facts: string
    lostAfter: number
  },
): Promise<RenewalResult | undefined> {
  const at = await readClock(db)
  const renewed = await db
    .updateTable('nodes')
    .set({ heartbeat_at: at, voided: 0, state, facts })
    .where('id', '=', id)
    .where('run', '=', run)
    .executeTakeFirstOrThrow()
  if (renewed.numUpdatedRows === 0n) return undefined
  const nodes = await db
    .selectFrom('nodes')
    .select(['state', 'heartbeat_at', 'voided'])
    .where('started_at', 'is not', null)
    .execute()
  const isGone = (one: (typeof nodes)[number]) =>
    one.state === 'stopped' || (one.heartbeat_at ?? 0) <= at - lostAfter
  return {
    at,
    alive: nodes.filter((one) => !isGone(one)).length,
    lost: nodes.some((one) => isGone(one) && one.voided === 0),
  }
}

/** Marks a run as stopped. Its leases must have ended. */
async function stopNode(db: Db, { id, run }: NodeRun): Promise<void> {
  await db
    .updateTable('nodes')
    .set({ state: 'stopped', heartbeat_at: await readClock(db) })
    .where('id', '=', id)
    .where('run', '=', run)
    .execute()
}

/**
 * Frees the leases and duties of stopped and lost nodes, once for each node. Returns the names of nodes that had
 * leases, each with its number of freed deliveries. Decides and frees in one transaction, so a node that renews its row
 * at the same moment keeps its leases.
 */
async function freeLostNodes(db: Db, args: FreeLeasesArgs): Promise<{ name: string; deliveries: number }[]> {
  const at = await readClock(db)
  const lost = await db
    .updateTable('nodes')
    .set({ voided: 1 })
    .where('voided', '=', 0)
    .where('started_at', 'is not', null)
    .where((where) =>
      where.or([where('state', '=', 'stopped'), where('heartbeat_at', '<=', at - args.lostAfter)]),
    )
    .returning(['id', 'name'])
    .execute()
  const freed: { name: string; deliveries: number }[] = []
  for (const { id, name } of lost) {
    const deliveries = await freeNode(db, id, args)
    if (deliveries > 0) freed.push({ name, deliveries })
  }
  return freed
}

async function freeNode(db: Db, id: string, { cause, firstDueAt }: Omit<FreeLeasesArgs, 'lostAfter'>) {
  const { first, end } = getOwnerRange(`${id}/`)
  await db
    .updateTable('duties')
    .set({ until: 0 })
    .where('owner', '>=', first)
    .where('owner', '<', end)
    .execute()
  return voidMatchingLeases(
    db,
    sql<SqlBool>`lease_owner >= ${first} and lease_owner < ${end}`,
    JSON.stringify(cause),
    firstDueAt,
  )
}

/**
 * Removes a node that won't return, along with its sending IPs, and frees its leases. Returns undefined if it doesn't
 * exist, and false if it is alive.
 */
async function forgetNode(
  db: Db,
  { id, ...args }: FreeLeasesArgs & { id: string },
): Promise<boolean | undefined> {
  const at = await readClock(db)
  const node = await db
    .selectFrom('nodes')
    .select(['state', 'heartbeat_at'])
    .where('id', '=', id)
    .where('started_at', 'is not', null)
    .executeTakeFirst()
  if (!node) return undefined
  if (node.state !== 'stopped' && (node.heartbeat_at ?? 0) > at - args.lostAfter) return false
  await freeNode(db, id, args)
  await db.deleteFrom('sources').where('node_id', '=', id).execute()
  await db.deleteFrom('nodes').where('id', '=', id).execute()
  return true
}

/**
 * Moves sending IPs to a node if the node that had them is stopped, lost or unknown, because its machine was replaced.
 * Returns the number of IPs moved.
 */
async function adoptSources(
  db: Db,
  { nodeId, ips, lostAfter }: { nodeId: string; ips: string[]; lostAfter: number },
): Promise<number> {
  if (ips.length === 0) return 0
  const alive = db
    .selectFrom('nodes')
    .select('id')
    .where('state', '!=', 'stopped')
    .where('heartbeat_at', '>', (await readClock(db)) - lostAfter)
  const adopted = await db
    .updateTable('sources')
    .set({ node_id: nodeId })
    .where('ip', 'in', ips)
    .where('node_id', '!=', nodeId)
    .where('node_id', 'not in', alive)
    .executeTakeFirstOrThrow()
  return Number(adopted.numUpdatedRows)
}

export const methods = {
  reads: { thisNode, listNodes },
  writes: { joinNode, renewNode, stopNode, freeLostNodes, forgetNode, adoptSources },
}
