/**
 * Keeps this node's row in a shared database up to date, and frees the deliveries of nodes that stopped or disappeared.
 * A node that can't renew its row in time is fenced: other nodes may take over its deliveries, so it must not begin new
 * ones.
 */
import type { Clock } from '../clock/clock.ts'
import type { Logger } from './log.ts'

/** Milliseconds between renewals. */
const BEAT_MS = 2000
/** How long a node may work without renewing its row, in milliseconds. */
const TERM_MS = 8000
/** Maximum difference between the clocks of this machine and of the database server, in milliseconds. */
const MOST_SKEW_MS = 1000

/** The storage methods that a heartbeat needs. A structural type, so that this folder imports no other. */
export interface HeartbeatStorage {
  joinNode(args: { id: string; run: string; name: string; facts: string }, now: number): Promise<number>
  renewNode(
    args: { id: string; run: string; state: 'active' | 'leaving'; facts: string; lostAfter: number },
    now: number,
  ): Promise<{ at: number; alive: number; lost: boolean } | undefined>
  stopNode(args: { id: string; run: string }, now: number): Promise<void>
}

export interface HeartbeatDeps {
  storage: HeartbeatStorage
  /** Real time, because the database compares it with its own time. */
  clock: Clock
  log: Logger
  /** Identifies the node and its current run. */
  node: { id: string; run: string; name: string }
  /** Returns information that other nodes show about this one, as JSON. */
  facts: () => string
  /** Time without a renewal after which other nodes free the node's leases, in milliseconds. */
  lostAfter: number
  /** Frees the leases of lost nodes. Returns the names of these nodes and their numbers of deliveries. */
  free: () => Promise<{ name: string; deliveries: number }[]>
}

/** State of this node, for the rest of the daemon. */
export interface NodeStatus {
  /** Returns why this node must not begin deliveries; null if it may. */
  fenced(): string | null
  /** How often this node has been fenced. Each time, other nodes may have taken over its leases and duties. */
  fences(): number
  /** Number of nodes that share the database, at least 1. */
  alive(): number
}

/** Status of the only node of a SQLite database, which is never fenced. */
export const SINGLE_NODE: NodeStatus = { fenced: () => null, fences: () => 0, alive: () => 1 }

export interface Heartbeat extends NodeStatus {
  /**
   * Joins the nodes, and keeps renewing the row.
   * @throws Error with a message for people if the clocks differ too much
   */
  start(): Promise<void>
  /** Sets the functions to call when this node becomes fenced, and when deliveries of other nodes were freed. */
  heed(calls: { fenced: () => void; freed: () => void }): void
  /** Tells other nodes that this one is stopping. */
  leave(): Promise<void>
  /** Marks the node as stopped. Its leases must have ended. */
  stop(): Promise<void>
}

const NOT_RENEWED = `This node could not renew its entry in the database for ${TERM_MS / 1000} seconds, so it delivers no mail. Other nodes take over. It continues when the database responds.`
const REMOVED =
  'This node was removed from the database (posthaste node forget), or another daemon took its place. It delivers no mail. Restart it.'

/** Returns how far the database's clock is ahead, in milliseconds, as precisely as the round trip allows. Pure. */
function skewOf(at: number, before: number, after: number): number {
  if (at > after) return at - after
  return at < before ? at - before : 0
}

/** Returns why a clock difference is too large; undefined if it isn't. Pure. */
function refuseSkew(skew: number): string | undefined {
  if (Math.abs(skew) <= MOST_SKEW_MS) return undefined
  const seconds = (Math.abs(skew) / 1000).toFixed(1)
  const which = skew > 0 ? 'behind' : 'ahead of'
  return `The clock of this machine is ${seconds} s ${which} that of the database server. Nodes must agree on the time within ${MOST_SKEW_MS / 1000} s. Synchronize both machines with NTP.`
}

/** Creates the heartbeat of a node. */
export function createHeartbeat(deps: HeartbeatDeps): Heartbeat {
  return new Beating(deps)
}

class Beating implements Heartbeat {
  readonly #deps: HeartbeatDeps
  #state: 'active' | 'leaving' = 'active'
  #renewedAt = 0
  #alive = 1
  #removed = false
  #skewed = false
  #wasFenced = false
  #fences = 0
  #stopped = false
  #beating: Promise<void> = Promise.resolve()
  #cancelBeat = (): void => undefined
  #cancelWatch = (): void => undefined
  #calls = { fenced: (): void => undefined, freed: (): void => undefined }

  constructor(deps: HeartbeatDeps) {
    this.#deps = deps
  }

  heed(calls: { fenced: () => void; freed: () => void }): void {
    this.#calls = calls
  }

  fenced(): string | null {
    if (this.#removed) return REMOVED
    const age = this.#deps.clock.now() - this.#renewedAt
    // If the clock was set back, the age is meaningless, but the timer still detects a missing renewal.
    return age >= TERM_MS || this.#wasFenced ? NOT_RENEWED : null
  }

  fences(): number {
    return this.#fences
  }

  alive(): number {
    return this.#alive
  }

  async start(): Promise<void> {
    const { storage, clock, node, facts } = this.#deps
    const before = clock.now()
    const at = await storage.joinNode({ ...node, facts: facts() }, before)
    const refused = refuseSkew(skewOf(at, before, clock.now()))
    if (refused !== undefined) {
      await storage.stopNode(node, clock.now())
      throw new Error(refused)
    }
    this.#renewed(before)
    await this.#beat()
  }

  async leave(): Promise<void> {
    this.#state = 'leaving'
    this.#cancelBeat()
    await this.#beating
    await this.#beat()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancelBeat()
    this.#cancelWatch()
    await this.#beating
    const { storage, clock, node, log } = this.#deps
    try {
      if (!this.#removed) await storage.stopNode(node, clock.now())
    } catch (error) {
      // Other nodes free this node's leases when its heartbeat is too old.
      log.warn({ err: error }, 'could not mark this node as stopped; other nodes notice in 15 seconds')
    }
  }

  #beat(): Promise<void> {
    this.#beating = this.#renew().finally(() => {
      if (!this.#stopped) this.#cancelBeat = this.#deps.clock.after(BEAT_MS, () => void this.#beat())
    })
    return this.#beating
  }

  async #renew(): Promise<void> {
    const { storage, clock, node, facts, log, lostAfter } = this.#deps
    const before = clock.now()
    try {
      const args = { ...node, state: this.#state, facts: facts(), lostAfter }
      const renewed = await storage.renewNode(args, before)
      if (!renewed) {
        this.#remove()
        return
      }
      this.#removed = false
      this.#alive = Math.max(1, renewed.alive)
      this.#watchSkew(skewOf(renewed.at, before, clock.now()))
      this.#renewed(before)
      if (renewed.lost) await this.#free()
    } catch (error) {
      log.warn({ err: error }, 'could not renew this node in the database')
    }
  }

  /** @param at when the renewal was sent; the database can't have handled it earlier */
  #renewed(at: number): void {
    const { clock, log } = this.#deps
    // A process that was suspended may renew its row before its timers run.
    if (this.#renewedAt > 0 && clock.now() - this.#renewedAt >= TERM_MS) this.#fence()
    this.#renewedAt = at
    this.#cancelWatch()
    // The reply came too late, so the next renewal counts.
    if (clock.now() - at >= TERM_MS) return
    this.#cancelWatch = clock.after(at + TERM_MS - clock.now(), () => this.#fence())
    if (this.#wasFenced) log.info('this node renewed its entry in the database; it delivers mail again')
    this.#wasFenced = false
  }

  #fence(): void {
    if (this.#stopped || this.#wasFenced) return
    this.#wasFenced = true
    this.#fences++
    this.#deps.log.error({ nodes: this.#alive }, NOT_RENEWED)
    this.#calls.fenced()
  }

  #remove(): void {
    if (this.#removed) return
    this.#removed = true
    this.#fences++
    this.#deps.log.error(REMOVED)
    this.#calls.fenced()
  }

  #watchSkew(skew: number): void {
    const refused = refuseSkew(skew)
    if (refused !== undefined && !this.#skewed) this.#deps.log.error({ skew_ms: skew }, refused)
    this.#skewed = refused !== undefined
  }

  async #free(): Promise<void> {
    const { free, log } = this.#deps
    for (const one of await free()) log.warn(one, 'freed deliveries that a lost node left in progress')
    this.#calls.freed()
  }
}
