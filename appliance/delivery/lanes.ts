import type { Clock } from '../clock/clock.ts'
import { formatDestination } from '../mail/queue.ts'
import {
  listOtherNodeSources,
  computePoolFilter,
  selectUsableSources,
  type AddressFamily,
  type PoolFilter,
  type Source,
} from '../mail/source.ts'
import {
  getCurrentLimits,
  recordStart,
  updateDailyCounts,
  laneId,
  recordMailCommand,
  computeMailWait,
  applySignal,
  determineProvider,
  Providers,
  availableCapacity,
  applyWarmUpSetback,
  getWarmUpProgress,
  type Exchanger,
  type LaneActivity,
  type Provider,
  type ProviderTable,
  type Signal,
} from '../shaping/shaping.ts'
import type { LeasedDelivery, Storage } from '../storage/storage.ts'
import type { Logger } from '../watch/log.ts'
import {
  computeLeaseAheadLimit,
  computeCapacity,
  earliest,
  addEndTime,
  isAtInFlightLimit,
  computeReopenTime,
} from './lane-capacity.ts'
import { LaneMemory, type Lane } from './lane-history.ts'
import { ClosedDestinations, explainClosedLanes } from './lateness.ts'
import { LaneWaitQueue } from './lane-turns.ts'
import type { PermitDecision, PermitRequest, Permit, LeaseCapacity } from './permit.ts'
import type { PastWait } from '../mail/waiting.ts'

/** How long a message that can't use its destination's capacity waits before the next lease, in milliseconds. */
const RETRY_MS = 5000

/** How long a delivery waits for a connection before it returns to the queue, in milliseconds. */
const PATIENCE_MS = 1000

/** Capacity of a destination about which nothing is known yet, in messages. Two are enough to learn more. */
export const DEFAULT_CAPACITY = 2

export interface LanesDeps {
  storage: Pick<Storage, 'saveLanes' | 'listLanes' | 'listProviderSettings' | 'listSources' | 'addLaneDays'>
  clock: Clock
  log: Logger
  /** Returns the current table. Called for each use, because the table can be replaced. */
  table: () => ProviderTable
  /** Sources to use while none are stored. */
  fallback: readonly Source[]
  /** Returns a random number in [0, 1). */
  random: () => number
  /** ID of this node, if sources may belong to other nodes; undefined if all sources belong to this node. */
  nodeId?: string | undefined
}

/**
 * The lanes of this process: the capacity of each destination, the permits to send, and the state of each lane.
 * Decisions are made by `shaping/`, on plain values. A few deliveries wait here for a connection that is about to be
 * free (lane-capacity.ts); all other deliveries without capacity return to the queue.
 */
export class Lanes {
  readonly #deps: LanesDeps
  readonly #memory: LaneMemory
  readonly #turns: LaneWaitQueue
  readonly #closings: ClosedDestinations
  #providers: Providers
  #sources: readonly Source[]
  /** Deliveries leased but still without a permit, by the destination they were leased from. */
  readonly #underway = new Map<string, number>()
  /** Destinations whose capacity must be listed, because they have deliveries in flight or limits. */
  readonly #touched = new Map<string, { pool: string; provider: string }>()
  /** IPs of the sources that belong to other nodes. */
  #foreign: ReadonlySet<string> = new Set()
  #pools: PoolFilter | undefined

  constructor(deps: LanesDeps) {
    this.#deps = deps
    this.#providers = new Providers(deps.table())
    this.#sources = deps.fallback
    this.#memory = new LaneMemory({ ...deps, providers: () => this.#providers })
    this.#turns = new LaneWaitQueue(deps.clock, (ask) => this.#decide(ask))
    this.#closings = new ClosedDestinations(deps.clock)
  }

  /** Reads the saved state, and changes by other processes: sources, settings, pauses by an operator. */
  async refresh(): Promise<void> {
    const { storage, clock, table, fallback, nodeId } = this.#deps
    const now = clock.now()
    const [settings, sources, own] = await Promise.all([
      storage.listProviderSettings({}, now),
      storage.listSources({}, now),
      nodeId === undefined ? undefined : storage.listSources({ nodeId }, now),
    ])
    this.#sources = sources.length > 0 ? sources : fallback
    this.#foreign = own ? listOtherNodeSources(sources, own) : new Set()
    this.#pools = own && computePoolFilter(sources, this.#foreign)
    this.#providers = new Providers(table(), new Map(settings.map((one) => [one.provider, one.settings])))
    for (const lane of await this.#memory.refresh()) this.#touchLane(lane)
  }

  /** Saves the changed lanes. */
  save(): Promise<void> {
    return this.#memory.save()
  }

  /** Saves for the last time. */
  stop(): Promise<void> {
    return this.#memory.stop()
  }

  /** Runs a change of stored data while nothing else is written, and then reads the changed data. */
  async change(work: () => Promise<void>): Promise<void> {
    await this.#memory.alone(work)
    await this.refresh()
  }

  /** Returns the provider of a set of mail exchangers. */
  providerOf(hosts: readonly Exchanger[]): string {
    return determineProvider(hosts, this.#deps.table())
  }

  /** Whether mail of a pool can be sent to IPs of a family. */
  reaches(pool: string, family: AddressFamily): boolean {
    return this.#usable(pool, family).length > 0
  }

  /**
   * Records that a delivery of a destination was leased; the returned function records that it has a permit, or was
   * returned.
   */
  reserve(of: { pool: string; provider: string }): () => void {
    const destination = formatDestination(of)
    this.#touched.set(destination, { pool: of.pool, provider: of.provider })
    this.#underway.set(destination, (this.#underway.get(destination) ?? 0) + 1)
    let ended = false
    return () => {
      if (ended) return
      ended = true
      const left = this.#underway.get(destination)! - 1
      if (left === 0) this.#underway.delete(destination)
      else this.#underway.set(destination, left)
    }
  }

  /** Returns the capacity for leases by destination. Lists only destinations with deliveries in flight or limits. */
  room(now: number): LeaseCapacity {
    const room: LeaseCapacity = { room: {}, closed: [], opensAt: null, pools: this.#pools }
    for (const [destination, of] of this.#touched) {
      const underway = this.#underway.get(destination) ?? 0
      const { free, ahead, open, opens } = this.#roomOf(of, now)
      const left = Math.max(0, free + ahead - underway)
      if (underway === 0 && open === 0 && left >= DEFAULT_CAPACITY) {
        this.#touched.delete(destination)
        continue
      }
      room.room[destination] = left
      if (left > 0) continue
      room.closed.push(destination)
      this.#noteClosed(of, now)
      if (opens !== null) room.opensAt = Math.min(room.opensAt ?? Infinity, opens)
    }
    return room
  }

  /** Returns why the attempt that begins now is later than it was due; undefined when it isn't. */
  whyLate(delivery: LeasedDelivery): PastWait | undefined {
    return this.#closings.whyLate(delivery)
  }

  #noteClosed(of: { pool: string; provider: string }, now: number): void {
    const lanes = this.#lanesOf(of.pool, of.provider, [4, 6])
    this.#closings.note(
      formatDestination(of),
      explainClosedLanes(lanes, this.#providers.get(of.provider), now),
      now,
    )
  }

  /** Returns the current activity of a lane; none if it was unused for long or since the start. */
  activity(source: string, provider: string): LaneActivity {
    const lane = this.#memory.known(source, provider)
    if (!lane) return { inFlight: 0, lastMinute: 0, minutes: [] }
    const now = this.#deps.clock.now()
    const { open, recent } = lane
    return { inFlight: open, lastMinute: recent.lastMinute(now), minutes: recent.minutes(now) }
  }

  /**
   * Whether more should be leased for a destination: half of what was leased ahead is used up. Fewer, larger leases
   * cost less.
   */
  isLow(of: { pool: string; provider: string }): boolean {
    const { ahead } = this.#roomOf(of, this.#deps.clock.now())
    return 2 * (this.#underway.get(formatDestination(of)) ?? 0) <= ahead
  }

  /** Returns a permit from one of the pool's sources, or the reason why there is none. */
  admit(ask: PermitRequest): PermitDecision {
    const { pool, provider } = ask
    this.#touched.set(formatDestination(ask), { pool, provider })
    return this.#turns.someoneBefore(ask) ? { kind: 'busy' } : this.#decide(ask)
  }

  /** Waits for a permit after `busy`; returns `busy` again when none becomes available within a second. */
  wait(ask: PermitRequest): Promise<PermitDecision> {
    return this.#turns.wait(ask, PATIENCE_MS)
  }

  /** Ends all waits, so that deliveries leased ahead return to the queue. */
  dismiss(): void {
    this.#turns.close()
  }

  #decide({ pool, provider: id, recipients, families }: PermitRequest): PermitDecision {
    const now = this.#deps.clock.now()
    const provider = this.#providers.get(id)
    const lanes = this.#lanesOf(pool, id, families)
    const open = lanes.filter((lane) => computeCapacity(lane, provider, now) > 0)
    const lane = this.#choose(open, provider, now)
    if (!lane) {
      if (lanes.some((one) => computeCapacity(one, provider, now, Infinity) > 0)) return { kind: 'busy' }
      const { free } = this.#roomOf({ pool, provider: id }, now)
      this.#noteClosed({ pool, provider: id }, now)
      return { kind: 'full', retryAt: free > 0 ? now + RETRY_MS : null }
    }
    return this.#permit(lane, provider, recipients, now)
  }

  #permit(lane: Lane, provider: Provider, recipients: number, now: number): Permit {
    const warm = getWarmUpProgress(lane.state, lane.source.warmUpSince, provider.warmUp, now)
    const granted = warm === null ? recipients : Math.min(recipients, warm.left - lane.recipients)
    lane.state = recordStart(lane.state, provider.limits, now)
    lane.recent.count(now)
    lane.open += 1
    lane.recipients += granted
    this.#memory.touch(lane)
    let state: 'open' | 'unsettled' | 'settled' = 'open'
    const connections = () =>
      getCurrentLimits(lane.state, provider.limits, this.#deps.clock.now()).connections
    return {
      kind: 'permit',
      source: lane.source,
      recipients: granted,
      lane: {
        key: laneId(lane.source.ip, provider.id),
        get connections() {
          return connections()
        },
      },
      limits: provider.limits,
      mailTurn: () => this.#mailTurn(lane, provider, now),
      another: () => this.#another(lane),
      release: (signals) => {
        if (state !== 'open') return
        state = 'unsettled'
        lane.open -= 1
        lane.unsettled += 1
        lane.recipients -= granted
        for (const signal of signals) this.#learn(lane, { ...signal, since: now })
        this.#ended(lane, provider)
      },
      settled: () => {
        if (state !== 'unsettled') return false
        state = 'settled'
        const waited = isAtInFlightLimit(lane, provider, this.#deps.clock.now())
        lane.unsettled -= 1
        if (waited) this.#turns.serve(lane.provider)
        return waited
      },
    }
  }

  /**
   * Whether another message may follow on the permit's own connection. This depends only on the pace, on pauses, and on
   * whether the source is still in use.
   */
  #another(lane: Lane): boolean {
    const now = this.#deps.clock.now()
    const { limits } = this.#providers.get(lane.provider)
    const source = this.#sources.find(({ ip }) => ip === lane.source.ip)
    if (source?.state !== 'active' || availableCapacity(lane.state, limits, lane.open - 1, now) === 0)
      return false
    lane.state = recordStart(lane.state, limits, now)
    lane.recent.count(now)
    this.#memory.touch(lane)
    return true
  }

  #mailTurn(lane: Lane, { limits }: Provider, since: number): number | null {
    const now = this.#deps.clock.now()
    const wait = computeMailWait(lane.state, since, now)
    if (wait === 0) lane.state = recordMailCommand(lane.state, limits, now)
    return wait
  }

  #ended(lane: Lane, { limits }: Provider): void {
    const now = this.#deps.clock.now()
    lane.ended = addEndTime(lane.ended, getCurrentLimits(lane.state, limits, now).connections, now)
    this.#turns.serve(lane.provider)
  }

  #learn(lane: Lane, signal: Signal): void {
    const now = this.#deps.clock.now()
    const provider = this.#providers.get(lane.provider)
    const since = this.#sources.find(({ ip }) => ip === lane.source.ip)?.warmUpSince ?? null
    const before = lane.state
    const after = applySignal(updateDailyCounts(before, signal, now), signal, provider, now)
    const paused = after.pause !== before.pause && after.pause?.by === 'reply'
    lane.state = applyWarmUpSetback(after, { since, paused }, provider, now)
    this.#memory.count(lane, signal, now)
    this.#touchLane(lane)
  }

  /**
   * Marks the capacity of a lane's destination as changed. Destinations of pools that fall back to the default pool are
   * marked when they ask.
   */
  #touchLane({ source, provider }: Lane): void {
    const of = { pool: source.pool, provider }
    this.#touched.set(formatDestination(of), of)
  }

  /** Returns the usable sources of a pool that belong to this node. */
  #usable(pool: string, family: AddressFamily): Source[] {
    return selectUsableSources(this.#sources, pool, family).filter(({ ip }) => !this.#foreign.has(ip))
  }

  /** Returns the lanes of a pool's usable sources to a provider. */
  #lanesOf(pool: string, provider: string, families: readonly AddressFamily[]): Lane[] {
    const sources = new Set(families.flatMap((family) => this.#usable(pool, family)))
    return [...sources].map((source) => this.#memory.lane(source, this.#providers.get(provider)))
  }

  #roomOf({ pool, provider: id }: { pool: string; provider: string }, now: number) {
    const provider = this.#providers.get(id)
    if (id.startsWith('?')) return { free: DEFAULT_CAPACITY, ahead: 0, open: 0, opens: null }
    const lanes = this.#lanesOf(pool, id, [4, 6])
    const sum = (of: (lane: Lane) => number) => lanes.reduce((total, lane) => total + of(lane), 0)
    const free = sum((lane) => computeCapacity(lane, provider, now))
    const ahead =
      sum((lane) => computeCapacity(lane, provider, now, computeLeaseAheadLimit(lane, provider, now))) - free
    const open = sum((lane) => lane.open)
    return { free, ahead, open, opens: earliest(lanes.map((lane) => computeReopenTime(lane, provider, now))) }
  }

  /**
   * Picks the least used lane. Among equally used lanes, prefers one in warm-up, so that it reaches its daily limit,
   * else picks at random.
   */
  #choose(lanes: readonly Lane[], provider: Provider, now: number): Lane | undefined {
    const { random } = this.#deps
    const rated = lanes.map((lane) => ({
      lane,
      used: lane.open / getCurrentLimits(lane.state, provider.limits, now).connections,
      warm: getWarmUpProgress(lane.state, lane.source.warmUpSince, provider.warmUp, now) === null ? 1 : 0,
      dice: random(),
    }))
    return rated.sort((a, b) => a.used - b.used || a.warm - b.warm || a.dice - b.dice)[0]?.lane
  }
}
