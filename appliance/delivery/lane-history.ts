import type { Clock } from '../clock/clock.ts'
import { describeLaneReason } from '../mail/waiting.ts'
import type { Source } from '../mail/source.ts'
import {
  DEFAULT_PROVIDER,
  createLaneState,
  parseLane,
  RecentMessages,
  utcDay,
  serializeLane,
  type LaneState,
  type Provider,
  type Providers,
  type ProviderTable,
  type Signal,
} from '../shaping/shaping.ts'
import type { LaneDay, LaneRecord, Storage } from '../storage/storage.ts'
import type { Logger } from '../watch/log.ts'

/** A lane in memory. */
export interface Lane {
  source: Source
  provider: string
  state: LaneState
  /** Messages with a permit. */
  open: number
  /** Recipients of the messages with a permit. */
  recipients: number
  /** Messages whose conversation has ended but whose result isn't stored yet. */
  unsettled: number
  /** When the last conversations ended (lane-capacity.ts). */
  ended: readonly number[]
  usedAt: number
  /** Recently started messages. */
  recent: RecentMessages
}

/** How long after a change the lanes are saved, all at once, in milliseconds. */
const SAVE_MS = 1000
/** How long after a failure they are saved again, in milliseconds. */
const RETRY_MS = 10_000
/** Time after which stateless lanes of providers outside the table are dropped, in milliseconds. */
const IDLE_MS = 600_000

interface MemoryDeps {
  storage: Pick<Storage, 'saveLanes' | 'listLanes' | 'addLaneDays'>
  clock: Clock
  log: Logger
  /** Returns the current table. Called for each use, because the table can be replaced. */
  table: () => ProviderTable
  /** Returns the current providers. */
  providers: () => Providers
}

/**
 * The lanes of this process, and their saved state. Lanes of providers outside the table are only saved when they have
 * state, because there may be one for every domain in the world.
 */
export class LaneMemory {
  readonly #deps: MemoryDeps
  readonly #lanes = new Map<string, Lane>()
  readonly #dirty = new Set<Lane>()
  readonly #days = new Map<string, LaneDay>()
  /**
   * `updatedAt` of each row that this process wrote. A different value in storage means that another process changed
   * the row.
   */
  readonly #written = new Map<string, number>()
  /** Saved rows of lanes that this process hasn't used yet. */
  readonly #records = new Map<string, LaneRecord>()
  #turn: Promise<unknown> = Promise.resolve()
  #cancelTimer: (() => void) | null = null
  #stopped = false

  constructor(deps: MemoryDeps) {
    this.#deps = deps
  }

  #inTable(provider: string): boolean {
    return this.#deps.table().providers.some(({ id }) => id === provider)
  }

  /** Returns the lane of a source and provider; a new one if there is none. */
  lane(source: Source, provider: Provider): Lane {
    const key = keyOf(source.ip, provider.id)
    let lane = this.#lanes.get(key)
    if (lane) {
      lane.source = source
      return lane
    }
    const record = this.#records.get(key)
    this.#records.delete(key)
    const state = record ? parseLane(record.state, provider.limits) : createLaneState(provider.limits)
    const idle = { open: 0, recipients: 0, unsettled: 0, ended: [], recent: new RecentMessages() }
    lane = { source, provider: provider.id, state, ...idle, usedAt: this.#deps.clock.now() }
    this.#lanes.set(key, lane)
    return lane
  }

  /** Returns a lane that was used before. */
  known(source: string, provider: string): Lane | undefined {
    return this.#lanes.get(keyOf(source, provider))
  }

  /** Marks a lane as changed. */
  touch(lane: Lane): void {
    lane.usedAt = this.#deps.clock.now()
    this.#dirty.add(lane)
    this.#saveIn(SAVE_MS)
  }

  #saveIn(ms: number): void {
    if (!this.#stopped) this.#cancelTimer ??= this.#deps.clock.after(ms, () => void this.#saveLater())
  }

  /** Adds a conversation to the day's counts. */
  count(lane: Lane, { kind, recipients, final }: Signal, now: number): void {
    this.touch(lane)
    if (kind === 'silent') return
    const source = lane.source.ip
    const provider = this.#inTable(lane.provider) ? lane.provider : DEFAULT_PROVIDER
    const day = utcDay(now)
    const key = `${day} ${keyOf(source, provider)}`
    const counted = this.#days.get(key) ?? {
      source,
      provider,
      day,
      sent: 0,
      delivered: 0,
      deferred: 0,
      bounced: 0,
    }
    this.#days.set(key, counted)
    counted.sent += recipients
    if (kind === 'taken') counted.delivered += recipients
    else if (final) counted.bounced += recipients
    else counted.deferred += recipients
  }

  /** Reads saved lanes. Adopts the pauses and limits of lanes that another process changed, and returns those lanes. */
  refresh(): Promise<Lane[]> {
    const { storage, clock } = this.#deps
    return this.alone(async () => this.#read(await storage.listLanes({}, clock.now())))
  }

  /** Saves changed lanes, after reading the changes of other processes. */
  save(): Promise<void> {
    return this.alone(async () => {
      if (this.#dirty.size === 0 && this.#days.size === 0) return
      const { storage, clock } = this.#deps
      const now = clock.now()
      this.#read(await storage.listLanes({}, now))
      await this.#saveLanes(now)
      await this.#saveDays(now)
      this.#forgetIdle(now)
    })
  }

  async #saveLanes(now: number): Promise<void> {
    const dirty = [...this.#dirty]
    const lanes = dirty
      .filter((lane) => this.#isWorthSaving(lane))
      .map((lane) => recordOf(lane, this.#deps.providers().get(lane.provider).name, now))
    this.#dirty.clear()
    try {
      if (lanes.length > 0) await this.#deps.storage.saveLanes({ lanes }, now)
    } catch (error) {
      for (const lane of dirty) this.#dirty.add(lane)
      throw error
    }
    for (const { source, provider } of lanes) this.#written.set(keyOf(source, provider), now)
  }

  async #saveDays(now: number): Promise<void> {
    const days = [...this.#days]
    this.#days.clear()
    if (days.length === 0) return
    try {
      await this.#deps.storage.addLaneDays({ days: days.map(([, counted]) => counted) }, now)
    } catch (error) {
      for (const [key, counted] of days) this.#days.set(key, sumOf(counted, this.#days.get(key)))
      throw error
    }
  }

  /** Saves once more and stops saving automatically. */
  stop(): Promise<void> {
    this.#stopped = true
    this.#cancelTimer?.()
    return this.save()
  }

  async #saveLater(): Promise<void> {
    this.#cancelTimer = null
    try {
      await this.save()
    } catch (error) {
      // Until then, lanes work from memory. A paused lane has no conversation that would save it.
      this.#deps.log.error({ err: error }, 'could not save the state of the lanes; will retry')
      this.#saveIn(RETRY_MS)
    }
  }

  /** Runs `work` exclusively, so that lanes aren't read while they are being written. */
  alone<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work)
    // The caller gets the error; the next call runs anyway.
    this.#turn = result.catch(() => undefined)
    return result
  }

  #read(records: readonly LaneRecord[]): Lane[] {
    const changed: Lane[] = []
    for (const record of records) {
      const key = keyOf(record.source, record.provider)
      if (this.#written.get(key) === record.updatedAt) continue
      this.#written.set(key, record.updatedAt)
      const lane = this.#lanes.get(key)
      if (!lane) {
        this.#records.set(key, record)
        continue
      }
      const { limits } = this.#deps.providers().get(record.provider)
      const { next, nextMail, clean, today, warmUp } = lane.state
      lane.state = { ...parseLane(record.state, limits), next, nextMail, clean, today, warmUp }
      changed.push(lane)
    }
    return changed
  }

  #isWorthSaving({ source, provider, state }: Lane): boolean {
    const known = this.#inTable(provider) || this.#written.has(keyOf(source.ip, provider))
    return known || state.reason !== null || source.warmUpSince !== null
  }

  #forgetIdle(now: number): void {
    for (const [key, lane] of this.#lanes) {
      if (lane.open > 0 || now - lane.usedAt < IDLE_MS || this.#isWorthSaving(lane)) continue
      this.#lanes.delete(key)
    }
  }
}

/** Adds up the counts of one lane and day. */
const sumOf = (one: LaneDay, other: LaneDay | undefined): LaneDay => ({
  ...one,
  sent: one.sent + (other?.sent ?? 0),
  delivered: one.delivered + (other?.delivered ?? 0),
  deferred: one.deferred + (other?.deferred ?? 0),
  bounced: one.bounced + (other?.bounced ?? 0),
})

const keyOf = (source: string, provider: string): string => `${source} ${provider}`

function recordOf({ source, provider, state }: Lane, name: string, now: number): LaneRecord {
  return {
    source: source.ip,
    provider,
    state: serializeLane(state),
    pausedUntil: state.pause?.until ?? null,
    reason: state.reason && describeLaneReason(state.reason, name),
    reasonAt: state.reasonAt,
    updatedAt: now,
  }
}
