/** This node among those that share the database. */
import { hostname } from 'node:os'
import type { Config } from '../config/config.ts'
import type { Clock } from '../clock/clock.ts'
import { LOST_MS, type NodeFacts } from '../mail/node.ts'
import { INTERRUPTED } from '../mail/verdict.ts'
import { INTERRUPTED_DELAY } from '../queue/schedule.ts'
import type { FreeLeasesArgs, Storage } from '../storage/storage.ts'
import { ALONE, createHeartbeat, type Heartbeat } from '../watch/heartbeat.ts'
import type { Logger } from '../watch/log.ts'
import { CannotStart } from '../wire/listeners.ts'

interface MembershipDeps {
  config: Config
  storage: Storage
  /** The clock of deliveries, and that of heartbeats, which must be real. */
  clock: Clock
  realTime: Clock
  log: Logger
  node: { id: string; run: string }
  facts: () => NodeFacts
}

/** On SQLite, there is only one node, whose row never changes. */
const NO_HEARTBEAT: Heartbeat = {
  ...ALONE,
  start: async () => undefined,
  heed: () => undefined,
  leave: async () => undefined,
  stop: async () => undefined,
}

/** Returns how leases of nodes that are gone are freed. @param now by the clock of deliveries */
const freeLeasesArgs = (now: number): FreeLeasesArgs => ({
  ...{ lostAfter: LOST_MS, cause: INTERRUPTED, firstDueAt: now + INTERRUPTED_DELAY },
})

/**
 * Joins the nodes of a PostgreSQL database, until `stop`.
 * @throws CannotStart if the clocks of this machine and of the database server differ too much
 */
export async function openMembership(deps: MembershipDeps): Promise<Heartbeat> {
  const { config, storage, clock, realTime, log, node, facts } = deps
  if (config.storage.engine !== 'postgres') return NO_HEARTBEAT
  const heartbeat = createHeartbeat({
    ...{ storage, log, clock: realTime, node: { ...node, name: hostname() } },
    facts: () => JSON.stringify(facts()),
    lostAfter: LOST_MS,
    free: () => storage.freeLostNodes(freeLeasesArgs(clock.now()), clock.now()),
  })
  await heartbeat.start().catch((error: unknown) => {
    throw new CannotStart((error as Error).message, { cause: error })
  })
  return heartbeat
}
