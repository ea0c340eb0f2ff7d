/** The membership of this node among the nodes that share the database. */
import { hostname } from 'node:os'
import type { Config } from '../config/config.ts'
import { type Clock, systemClock } from '../clock/clock.ts'
import { newId, formatOwner } from '../mail/ids.ts'
import { LOST_MS, type NodeFacts } from '../mail/node.ts'
import { buildFreeLeasesArgs } from '../queue/schedule.ts'
import type { Storage } from '../storage/storage.ts'
import { SINGLE_NODE, createHeartbeat, type Heartbeat } from '../watch/heartbeat.ts'
import type { Logger } from '../watch/log.ts'
import { StartupError } from '../wire/listeners.ts'
import { isShared } from './node.ts'
import { getNodeId } from './node-id.ts'

interface MembershipDeps {
  config: Config
  storage: Storage
  /** The clock of deliveries. Heartbeats always use the machine's clock. */
  clock: Clock
  log: Logger
  node: { facts(): NodeFacts }
}

/** The current run of this node. */
interface Member {
  nodeId: string
  /** Identifies the run in leases. */
  owner: string
  heartbeat: Heartbeat
}

/** On SQLite, there is only one node, whose row never changes. */
const NO_HEARTBEAT: Heartbeat = {
  ...SINGLE_NODE,
  start: async () => undefined,
  heed: () => undefined,
  leave: async () => undefined,
  stop: async () => undefined,
}

/**
 * Joins the nodes of a PostgreSQL database, until the heartbeat stops.
 * @throws StartupError if the clocks of this machine and of the database server differ too much
 */
export async function openMembership(deps: MembershipDeps): Promise<Member> {
  const { config, storage, clock, log, node } = deps
  const nodeId = await getNodeId(config, storage, clock.now())
  const run = newId(clock.now())
  const owner = formatOwner(nodeId, run)
  if (!isShared(config)) return { nodeId, owner, heartbeat: NO_HEARTBEAT }
  const heartbeat = createHeartbeat({
    storage,
    log,
    clock: systemClock,
    node: { id: nodeId, run, name: hostname() },
    facts: () => JSON.stringify(node.facts()),
    lostAfter: LOST_MS,
    free: () => storage.freeLostNodes(buildFreeLeasesArgs(clock.now()), clock.now()),
  })
  await heartbeat.start().catch((error: unknown) => {
    throw new StartupError((error as Error).message, { cause: error })
  })
  return { nodeId, owner, heartbeat }
}
