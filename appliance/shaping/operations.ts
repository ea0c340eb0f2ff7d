/**
 * What operators can do with providers and lanes, through the API or the command line. Works the same whether or not
 * the daemon runs.
 */
import type { Clock } from '../clock/clock.ts'
import type { Source } from '../mail/source.ts'
import { refuse } from '../mail/refusals.ts'
import type { LaneRecord, Storage } from '../storage/storage.ts'
import { describeBacklog, type Backlog, type BacklogCount } from './backlog.ts'
import { explainWait, type Explanation, type ExplanationContext, type DeliveryFacts } from './explain.ts'
import { isPaused, pauseManually, resumeManually, getDisplayRate } from './lane.ts'
import type { LaneState } from './lane-state.ts'
import { Providers, type Provider, type ProviderTable } from './providers.ts'
import type { LaneActivity } from './recent.ts'
import {
  type Forecast,
  forecastProvider,
  computeSourceCapacity,
  estimateTurnHours,
  forecastTotal,
  type TotalForecast,
} from './forecast.ts'
import { laneId, parseLaneId, parseLane } from './saved.ts'
import { parseSettings, SETTING_NAMES } from './settings.ts'
import { nextMidnight, getWarmUpProgress } from './warm-up.ts'
import { type LaneSummary, nameOf, isBusy, recordOf, factsOf } from './lane-summary.ts'

export interface ShapingDeps {
  storage: Pick<
    Storage,
    'listLanes' | 'saveLanes' | 'listProviderSettings' | 'saveProviderSettings' | 'listSources'
  >
  clock: Clock
  /** Called each time, because the table can be replaced. */
  table: () => ProviderTable
  /**
   * Runs a change so that the daemon in this process applies it immediately. If undefined, a running daemon detects the
   * change itself.
   */
  change?: (work: () => Promise<void>) => Promise<void>
  /** Returns a lane's current activity, if the daemon runs in this process. */
  activity?: (source: string, provider: string) => LaneActivity
}

/** A backlog with its lanes. */
export interface QueueLaneFacts<T extends BacklogCount = BacklogCount> extends Backlog {
  counted: T
  /** Display name of the provider. */
  name: string
  /** The lanes, one for each sending IP used so far. */
  lanes: LaneSummary[]
}

/** What a source may send to a provider now. */
export interface SourceRate {
  pool: string
  provider: string
  /** Messages per minute; 0 while the lane is paused. */
  perMinute: number
  /** Number of messages that the warm-up still allows today; null without a warm-up. */
  left: number | null
}

/** Number of contacts at a provider to send to; the provider is empty if it isn't known yet. */
interface Asked {
  provider: string
  contacts: number
}

export interface ShapingOperations {
  providers(): Promise<Provider[]>
  /** Returns a function that names a provider by its id. Outside the table, the id is the name. */
  names(): Promise<(id: string) => string>
  /**
   * Returns a provider by id.
   * Refuses: `not_found`.
   */
  provider(id: string): Promise<Provider>
  /** Changes the given settings; null resets a setting to the table's value. Uses the API's names and values. */
  setProvider(id: string, change: Record<string, unknown>): Promise<Provider>
  /** Lists the lanes used so far, by source and provider. */
  lanes(): Promise<LaneSummary[]>
  /** Returns what each active source may send now to each provider, including those without mail so far. */
  rates(): Promise<SourceRate[]>
  /** @param minutes null for a pause that lasts until it is ended */
  pauseLane(id: string, minutes: number | null): Promise<LaneSummary>
  resumeLane(id: string): Promise<LaneSummary>
  /**
   * Returns the state of each backlog, largest first, then idle lanes.
   * @param idle whether to include idle lanes
   */
  backlog<T extends BacklogCount>(
    counts: readonly T[],
    idle: boolean,
  ): Promise<QueueLaneFacts<T | BacklogCount>[]>
  /**
   * Estimates how long it takes to send to each provider from a pool, and in total.
   * @param hourlyRate maximum number of messages per hour; null without a limit
   */
  forecast(pool: string, asked: readonly Asked[], hourlyRate: number | null): Promise<TotalForecast>
  /** Explains why each delivery waits. */
  explain(deliveries: readonly DeliveryFacts[]): Promise<(Explanation | null)[]>
}

const NOTHING_WAITS = { count: 0, due: 0, later: 0, held: 0, inFlight: 0, nextAt: null, sample: null }

/** Maximum length of a temporary pause, in minutes: a week. */
export const MAX_PAUSE_MINUTES = 10_080

export function createShapingOperations(deps: ShapingDeps): ShapingOperations {
  return new StoredShapingOperations(deps)
}

class StoredShapingOperations implements ShapingOperations {
  readonly #deps: ShapingDeps

  constructor(deps: ShapingDeps) {
    this.#deps = deps
  }

  async providers(): Promise<Provider[]> {
    return (await this.#providersNow()).list()
  }

  async names(): Promise<(id: string) => string> {
    const providers = await this.#providersNow()
    return (id) => (id === '' ? '' : nameOf(id, providers))
  }

  async provider(id: string): Promise<Provider> {
    const { providers, records } = await this.#readAll()
    if (!isThere(id, providers, records)) throw refuse('not_found', { resource: `Provider ${id}` })
    return providers.get(id)
  }

  async setProvider(id: string, given: Record<string, unknown>): Promise<Provider> {
    const { storage, clock } = this.#deps
    await this.provider(id)
    refuseSettings(given)
    await this.#change(async () => {
      const now = clock.now()
      const live = await storage.listProviderSettings({}, now)
      const before = live.find((one) => one.provider === id)?.settings ?? {}
      const after = Object.entries({ ...before, ...given }).filter(([, value]) => value !== null)
      const settings = after.length > 0 ? Object.fromEntries(after) : null
      await storage.saveProviderSettings({ provider: id, settings }, now)
    })
    return (await this.#providersNow()).get(id)
  }

  async lanes(): Promise<LaneSummary[]> {
    const { providers, records, sources } = await this.#readAll()
    return records.map((record) => this.#factsOf(record, providers, sources))
  }

  async rates(): Promise<SourceRate[]> {
    const { providers, records, sources } = await this.#readAll()
    const now = this.#deps.clock.now()
    const active = sources.filter(({ state }) => state === 'active')
    const ids = new Set([...providers.list().map(({ id }) => id), ...records.map((one) => one.provider)])
    const states = new Map(records.map((one) => [laneId(one.source, one.provider), one.state]))
    return [...ids].flatMap((id) => {
      const { limits, warmUp: plan } = providers.get(id)
      return active.map(({ ip, pool, warmUpSince }) => {
        const state = parseLane(states.get(laneId(ip, id)) ?? '', limits)
        const perMinute = isPaused(state, now) ? 0 : getDisplayRate(state, limits, now)
        const left = getWarmUpProgress(state, warmUpSince, plan, now)?.left ?? null
        return { pool, provider: id, perMinute, left }
      })
    })
  }

  pauseLane(id: string, minutes: number | null): Promise<LaneSummary> {
    return this.#changeLane(id, (state, now) =>
      pauseManually(state, minutes === null ? null : now + minutes * 60_000, now),
    )
  }

  resumeLane(id: string): Promise<LaneSummary> {
    return this.#changeLane(id, resumeManually)
  }

  async explain(deliveries: readonly DeliveryFacts[]): Promise<(Explanation | null)[]> {
    const waits = deliveries.some(({ state }) => state === 'waiting' || state === 'held')
    if (!waits) return deliveries.map(() => null)
    const { situation } = await this.#situation()
    return deliveries.map((one) => explainWait(one, situation, this.#deps.clock.now()))
  }

  async forecast(pool: string, asked: readonly Asked[], hourlyRate: number | null): Promise<TotalForecast> {
    const { providers, records, sources } = await this.#readAll()
    const now = this.#deps.clock.now()
    const left = (nextMidnight(now) - now) / 60_000
    const usable = sources.filter((source) => source.pool === pool && source.state === 'active')
    const counts = asked.map(({ contacts }) => contacts)
    const turns = hourlyRate === null ? [] : estimateTurnHours(counts, hourlyRate)
    const forecasts = asked.map(({ provider: id, contacts: messages }, at): Forecast => {
      if (id === '') return { name: '', hours: null, limitedBy: null }
      const provider = providers.get(id)
      const { limits, warmUp: plan } = provider
      const supplies = usable.map(({ ip, warmUpSince }) => {
        const record = records.find((one) => one.source === ip && one.provider === id)
        const lane = record && factsOf(record, providers, sources, now)
        return computeSourceCapacity(
          limits,
          lane,
          plan,
          getWarmUpProgress(parseLane('', limits), warmUpSince, plan, now),
        )
      })
      return forecastProvider(
        { name: nameOf(id, providers), messages, turns: turns[at] ?? 0 },
        supplies,
        left,
      )
    })
    return forecastTotal(forecasts, counts, hourlyRate)
  }

  async backlog<T extends BacklogCount>(
    counts: readonly T[],
    idle: boolean,
  ): Promise<QueueLaneFacts<T | BacklogCount>[]> {
    const { situation, lanes } = await this.#situation()
    const now = this.#deps.clock.now()
    const present = <C extends BacklogCount>(counted: C): QueueLaneFacts<C> => {
      const { pool, provider } = counted
      const own = lanes.filter((lane) => lane.pool === pool && lane.provider === provider)
      const busy = own.length > 0 && own.every(isBusy)
      const name = provider === null ? '' : nameOf(provider, situation.providers)
      return { ...describeBacklog(counted, busy, situation, now), counted, name, lanes: own }
    }
    const known = new Set(counts.map(({ pool, provider }) => `${pool}/${provider}`))
    const others = new Map(
      lanes
        .filter(({ pool, provider }) => idle && pool !== null && !known.has(`${pool}/${provider}`))
        .map(({ pool, provider }) => [`${pool}/${provider}`, { ...NOTHING_WAITS, pool, provider }]),
    )
    return [...counts.map(present), ...[...others.values()].map(present)]
  }

  async #situation(): Promise<{ situation: ExplanationContext; lanes: LaneSummary[] }> {
    const { providers, records, sources } = await this.#readAll()
    const lanes = records.map(({ source, provider, state }) => ({
      source,
      provider,
      state: parseLane(state, providers.get(provider).limits),
    }))
    return {
      situation: { lanes, sources, providers },
      lanes: records.map((record) => this.#factsOf(record, providers, sources)),
    }
  }

  async #changeLane(id: string, next: (state: LaneState, now: number) => LaneState): Promise<LaneSummary> {
    const { storage, clock } = this.#deps
    const named = parseLaneId(id)
    if (!named) throw refuse('not_found', { resource: `Lane ${id}` })
    let facts: LaneSummary | undefined
    await this.#change(async () => {
      const now = clock.now()
      const { providers, records, sources } = await this.#readAll()
      const record = records.find((one) => one.source === named.source && one.provider === named.provider)
      const known =
        sources.some(({ ip }) => ip === named.source) && isThere(named.provider, providers, records)
      if (!record && !known) throw refuse('not_found', { resource: `Lane ${id}` })
      const provider = providers.get(named.provider)
      const state = next(parseLane(record?.state ?? '', provider.limits), now)
      // The daemon recognizes rows written by other processes by their time.
      const saved = recordOf(named.source, provider, state, Math.max(now, (record?.updatedAt ?? 0) + 1))
      await storage.saveLanes({ lanes: [saved] }, now)
      facts = this.#factsOf(saved, providers, sources)
    })
    return facts!
  }

  #factsOf(record: LaneRecord, providers: Providers, sources: readonly Source[]): LaneSummary {
    const { clock, activity } = this.#deps
    const now = clock.now()
    const facts = factsOf(record, providers, sources, now)
    return { ...facts, activity: activity?.(record.source, record.provider) ?? null }
  }

  #change(work: () => Promise<void>): Promise<void> {
    const { change } = this.#deps
    return change ? change(work) : work()
  }

  async #providersNow(): Promise<Providers> {
    const { storage, clock, table } = this.#deps
    const settings = await storage.listProviderSettings({}, clock.now())
    return new Providers(table(), new Map(settings.map((one) => [one.provider, one.settings])))
  }

  async #readAll() {
    const { storage, clock } = this.#deps
    const now = clock.now()
    const [providers, records, sources] = await Promise.all([
      this.#providersNow(),
      storage.listLanes({}, now),
      storage.listSources({}, now),
    ])
    return { providers, records, sources }
  }
}

/** Accepts `default`, an id in the table, a domain or an address literal, but not a domain that was never looked up. */
const isProviderId = (id: string): boolean =>
  /^(?:[a-z0-9](?:[a-z0-9._-]{0,250}[a-z0-9])?|\[[0-9a-fA-F.:v]{2,45}\])$/i.test(id) &&
  id === id.toLowerCase()

/**
 * Whether a provider exists. The ID of a provider outside the table is the domain of its mail exchangers. In private
 * networks, this domain may be a single label, which counts only if mail was sent there.
 */
function isThere(id: string, providers: Providers, records: readonly LaneRecord[]): boolean {
  if (!isProviderId(id)) return false
  const listed = providers.list().some((one) => one.id === id)
  return listed || /[.:]/.test(id) || records.some(({ provider }) => provider === id)
}

function refuseSettings(given: Record<string, unknown>): void {
  const set = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null))
  const unknown = Object.keys(given).find((name) => !SETTING_NAMES.includes(name))
  if (unknown !== undefined)
    throw refuse('invalid_field', { field: unknown, expected: `one of ${SETTING_NAMES.join(', ')}` })
  const [bad] = parseSettings(set).bad
  if (bad) throw refuse('invalid_field', { field: bad.name, expected: bad.expected })
}
