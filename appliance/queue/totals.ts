/** Totals of queue counts. Pure. */
import { isProviderPlaceholder, AGE_BANDS } from '../mail/queue.ts'
import type { DeliveryGroup } from '../storage/storage.ts'

/** Number of deliveries for one provider. */
export interface ProviderCount {
  provider: string
  waiting: number
  held: number
  inFlight: number
  oldestAt: number
}

/** Counts of deliveries from one pool to one provider. Times in Unix milliseconds. */
export interface CountedLane {
  /** The pool; null if the row covers several pools. */
  pool: string | null
  /** The provider: `?` for several domains that were never looked up; null if the row covers several providers. */
  provider: string | null
  count: number
  /** Number of deliveries due now, and number due later. */
  due: number
  later: number
  held: number
  inFlight: number
  oldestAt: number
  /** When the first of `later` is due; null if there is none. */
  nextAt: number | null
  /** ID of the oldest delivery, preferably one that was attempted and is waiting. */
  sampleId: string
}

/** Counts for the queue or a part of it. Times in Unix milliseconds; null if there are no deliveries. */
export interface QueueSummary {
  count: number
  waiting: number
  held: number
  inFlight: number
  oldestAt: number | null
  newestAt: number | null
  /** Number of teams. */
  teams: number
  /** Largest first. */
  providers: ProviderCount[]
  domains: { domain: string; provider: string; count: number }[]
  /**
   * Number of deliveries by age, youngest first. Ages are at least `from` and less than `to`, in milliseconds (null
   * without a limit).
   */
  ages: { from: number; to: number | null; count: number }[]
}

/**
 * Maximum number of rows by pool and provider, and of rows for domains that were never looked up. Remaining deliveries
 * are combined in one row, or in one row per pool for such domains.
 */
const MOST_LANES = 100
const MOST_UNPLACED = 20

/** Maximum number of rows of each kind in a summary. */
const MOST_ROWS = 50

const byState = { waiting: 'waiting', held: 'held', in_flight: 'inFlight' } as const

/** Adds up partial counts as they arrive, without keeping them. */
export class QueueTotals {
  readonly #states = { waiting: 0, held: 0, inFlight: 0 }
  readonly #providers = new Map<string, ProviderCount>()
  readonly #domains = new Map<string, { domain: string; provider: string; count: number }>()
  readonly #ages = [0, ...AGE_BANDS].map((from, band) => ({ from, to: AGE_BANDS[band] ?? null, count: 0 }))
  readonly #teams = new Set<string>()
  readonly #lanes = new Map<string, CountedLane>()
  #oldestAt: number | null = null
  #newestAt: number | null = null

  add(groups: readonly DeliveryGroup[]): void {
    for (const group of groups) {
      this.#addToLane(group)
      const { teamId, provider, domain, state, band, count, oldestAt, newestAt } = group
      this.#teams.add(teamId)
      this.#states[byState[state]] += count
      this.#ages[band]!.count += count
      this.#oldestAt = Math.min(this.#oldestAt ?? Infinity, oldestAt)
      this.#newestAt = Math.max(this.#newestAt ?? 0, newestAt)
      const known = this.#providers.get(provider) ?? { provider, waiting: 0, held: 0, inFlight: 0, oldestAt }
      known[byState[state]] += count
      known.oldestAt = Math.min(known.oldestAt, oldestAt)
      this.#providers.set(provider, known)
      const there = this.#domains.get(domain) ?? { domain, provider, count: 0 }
      there.count += count
      this.#domains.set(domain, there)
    }
  }

  #addToLane(group: DeliveryGroup): void {
    const { pool, state, count, later, oldestAt, nextAt, sampleId } = group
    const { provider } = group
    const waits = state === 'waiting'
    const one: CountedLane = {
      pool,
      provider,
      count,
      due: waits ? count - later : 0,
      later: waits ? later : 0,
      held: state === 'held' ? count : 0,
      inFlight: state === 'in_flight' ? count : 0,
      oldestAt,
      nextAt: waits ? nextAt : null,
      sampleId,
    }
    const key = `${pool}/${provider}`
    const known = this.#lanes.get(key)
    this.#lanes.set(key, known ? together(known, one) : one)
  }

  /** The rows, largest first. Each delivery is counted in exactly one row. */
  get lanes(): CountedLane[] {
    const all = largestFirst(this.#lanes.values())
    const unplaced = all.filter(({ provider }) => isProviderPlaceholder(provider!))
    const rest = new Map<string, CountedLane>()
    for (const one of unplaced.slice(MOST_UNPLACED)) {
      const known = rest.get(one.pool!)
      rest.set(one.pool!, { ...(known ? together(known, one) : one), provider: '?' })
    }
    const placed = all.filter(({ provider }) => !isProviderPlaceholder(provider!))
    const rows = largestFirst([...placed, ...unplaced.slice(0, MOST_UNPLACED), ...rest.values()])
    if (rows.length <= MOST_LANES) return rows
    const others = rows.slice(MOST_LANES - 1).reduce(together)
    return [...rows.slice(0, MOST_LANES - 1), { ...others, pool: null, provider: null }]
  }

  get summary(): QueueSummary {
    const { waiting, held, inFlight } = this.#states
    const all = (one: ProviderCount): number => one.waiting + one.held + one.inFlight
    const providers = [...this.#providers.values()].sort((a, b) => all(b) - all(a))
    const domains = [...this.#domains.values()].sort((a, b) => b.count - a.count)
    return {
      count: waiting + held + inFlight,
      waiting,
      held,
      inFlight,
      oldestAt: this.#oldestAt,
      newestAt: this.#newestAt,
      teams: this.#teams.size,
      providers: providers.slice(0, MOST_ROWS),
      domains: domains.slice(0, MOST_ROWS),
      ages: this.#ages,
    }
  }
}

const largestFirst = (rows: Iterable<CountedLane>): CountedLane[] =>
  [...rows].sort((a, b) => b.count - a.count)

/** Merges two rows. Prefers the sample of the row with deliveries due later, which shows why they are waiting. */
function together(a: CountedLane, b: CountedLane): CountedLane {
  const sample =
    Math.sign(b.later) > Math.sign(a.later) || (b.later > 0 === a.later > 0 && b.oldestAt < a.oldestAt)
      ? b
      : a
  return {
    pool: a.pool,
    provider: a.provider,
    count: a.count + b.count,
    due: a.due + b.due,
    later: a.later + b.later,
    held: a.held + b.held,
    inFlight: a.inFlight + b.inFlight,
    oldestAt: Math.min(a.oldestAt, b.oldestAt),
    nextAt: a.nextAt === null || b.nextAt === null ? (a.nextAt ?? b.nextAt) : Math.min(a.nextAt, b.nextAt),
    sampleId: sample.sampleId,
  }
}
