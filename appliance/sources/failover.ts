/**
 * Moves the queued mail of a region to another one when all nodes of the region are gone, and restores the region when a
 * node returns. The pure decision is in mail/failover.ts. Runs on the node that holds the duty.
 */
import type { Clock } from '../clock/clock.ts'
import { SYSTEM_ACTOR, toActorFields, type NewAuditEntry } from '../mail/audit.ts'
import { decideFailovers, type FailoverStart } from '../mail/failover.ts'
import { newId } from '../mail/ids.ts'
import { LOST_MS, type NodeView } from '../mail/node.ts'
import { getMainPool, listPoolsOfRegion, type RegionFailover, type RegionMap } from '../mail/region.ts'
import type { Storage } from '../storage/storage.ts'
import { createDutyCheck, type Duties } from '../watch/duties.ts'
import type { Logger } from '../watch/log.ts'
import { createWorker, type Worker } from '../watch/worker.ts'

export interface FailoverDeps {
  storage: Pick<
    Storage,
    'regionMap' | 'beginFailover' | 'endFailover' | 'rerouteQueue' | 'nextDue' | 'completeAudit'
  >
  /** Lists the nodes that share the database. */
  listNodes: () => Promise<NodeView[]>
  /** The clock of heartbeats. */
  clock: Clock
  /** The clock of deliveries, which differs from the machine's only in tests. */
  deliveryClock: Pick<Clock, 'now'>
  log: Logger
  duties: Duties
  /** Called when deliveries were moved, which this node may now send. */
  onMoved: () => void
}

/** Interval between checks of the nodes, in milliseconds. */
const EVERY = 5000
/** Number of deliveries to examine in one step, as for other reroutes of the queue. */
const STEP = 500

/** Creates the worker. Writes nothing while no region is lost. */
export function createFailover(deps: FailoverDeps): Worker {
  const { storage, clock, deliveryClock, log, listNodes } = deps
  const onDuty = createDutyCheck(deps.duties, 'regions')
  let [watchedSince, lookedAt] = [Infinity, -Infinity]
  const step = async (going: () => boolean): Promise<boolean> => {
    const regions = await storage.regionMap({}, deliveryClock.now())
    // Nearly all installations have no regions.
    if (regions.pools.length === 0 && regions.failovers.length === 0) return false
    const nodes = await listNodes()
    const now = clock.now()
    if (now - lookedAt > LOST_MS) watchedSince = now
    lookedAt = now
    const { begin, end } = decideFailovers(nodes, regions, now, watchedSince)
    const rest = regions.failovers.filter(({ region }) => !end.includes(region))
    if (begin.length + end.length + rest.length === 0 || !(await onDuty())) return false
    const mayGoOn = async (): Promise<boolean> => going() && (await onDuty())
    for (const region of end) await restore(deps, region)
    for (const one of begin) if (going()) await failOver(deps, one, regions, mayGoOn)
    for (const one of rest) if (going()) await moveLate(deps, one, regions, mayGoOn)
    return false
  }
  return createWorker({ step, clock, log, pollMs: EVERY, trouble: 'could not check the regions; will retry' })
}

/** Returns the fields that the entries of a region have in common. */
const about = (region: string, at: number) => ({
  id: newId(at),
  teamId: null,
  at,
  ...toActorFields(SYSTEM_ACTOR),
  target: `region ${region}`,
  targetName: region,
  before: null,
})

/** Records the fail-over, and moves all queued mail of the region. */
async function failOver(
  deps: FailoverDeps,
  { region, target, lostAt }: FailoverStart,
  regions: RegionMap,
  mayGoOn: () => Promise<boolean>,
): Promise<void> {
  const { storage, deliveryClock, log } = deps
  const at = deliveryClock.now()
  const lost = new Date(lostAt).toISOString()
  const entry: NewAuditEntry = {
    ...about(region, at),
    action: 'region.fail_over',
    after: null,
    details: { to: target, lost_since: lost },
  }
  const failover: RegionFailover = { region, target, since: at, auditId: entry.id }
  if (!(await storage.beginFailover({ failover, entry }, at))) return
  log.error({ region, target, lost_since: lost }, 'all nodes of a region are gone; moving its mail')
  const count = await move(deps, failover, regions, mayGoOn)
  await storage.completeAudit({ id: entry.id, after: { count } }, deliveryClock.now())
  log.warn({ region, target, deliveries: count }, 'moved the queued mail of a region')
}

/** Records the end of a fail-over. Mail that was moved stays where it is. */
async function restore({ storage, deliveryClock, log }: FailoverDeps, region: string): Promise<void> {
  const at = deliveryClock.now()
  const entry: NewAuditEntry = { ...about(region, at), action: 'region.restore', after: {}, details: {} }
  if (await storage.endFailover({ region, entry }, at))
    log.warn({ region }, 'a region has returned; its new mail leaves from it again')
}

/** Moves mail that a node accepted for the region before it knew of the fail-over, or after an interrupted move. */
async function moveLate(
  deps: FailoverDeps,
  failover: RegionFailover,
  regions: RegionMap,
  mayGoOn: () => Promise<boolean>,
): Promise<void> {
  const pools = listPoolsOfRegion(regions, failover.region)
  if (pools.length === 0) return
  const due = await deps.storage.nextDue(
    { closed: [], pools: { pools, only: true } },
    deps.deliveryClock.now(),
  )
  if (due !== undefined) await move(deps, failover, regions, mayGoOn)
}

/** Moves all queued mail of the region's pools, in steps, and returns the number of deliveries. */
async function move(
  { storage, deliveryClock, onMoved }: FailoverDeps,
  { region, target, auditId }: RegionFailover,
  regions: RegionMap,
  mayGoOn: () => Promise<boolean>,
): Promise<number> {
  const to = getMainPool(regions, target)
  if (to === undefined) return 0
  let count = 0
  for (const pool of listPoolsOfRegion(regions, region))
    for (let after: string | null | undefined; after !== null && (await mayGoOn());) {
      const args = { pool, to, by: auditId, keepHolder: true, limit: STEP, after }
      const done = await storage.rerouteQueue(args, deliveryClock.now())
      count += done.count
      after = done.next
    }
  if (count > 0) onMoved()
  return count
}
