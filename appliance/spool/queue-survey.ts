/** What the counts of the queue add up to. Pure. */
import { AGE_BANDS } from '../mail/queue-action.ts'
import type { SurveyGroup } from '../storage/storage.ts'

/** Deliveries of one provider. */
export interface ProviderCount {
  provider: string
  waiting: number
  held: number
  inFlight: number
  oldestAt: number
}

/** The queue, or a part of it, counted. Instants in Unix milliseconds; null where there is nothing. */
export interface QueueSummary {
  count: number
  waiting: number
  held: number
  inFlight: number
  oldestAt: number | null
  newestAt: number | null
  /** How many teams they belong to. */
  teams: number
  /** Those with the most first. */
  providers: ProviderCount[]
  domains: { domain: string; provider: string; count: number }[]
  /** From the youngest: reached `from`, not yet `to` (milliseconds; null: any age). */
  ages: { from: number; to: number | null; count: number }[]
}

/** Rows of each kind that a summary shows. */
const MOST_ROWS = 50

const byState = { waiting: 'waiting', held: 'held', in_flight: 'inFlight' } as const

/** Adds portions up as they come, so that no portion has to be kept. */
export class Tally {
  readonly #states = { waiting: 0, held: 0, inFlight: 0 }
  readonly #providers = new Map<string, ProviderCount>()
  readonly #domains = new Map<string, { domain: string; provider: string; count: number }>()
  readonly #ages = [0, ...AGE_BANDS].map((from, band) => ({ from, to: AGE_BANDS[band] ?? null, count: 0 }))
  readonly #teams = new Set<string>()
  #oldestAt: number | null = null
  #newestAt: number | null = null

  add(groups: readonly SurveyGroup[]): void {
    for (const { teamId, provider, domain, state, band, count, oldestAt, newestAt } of groups) {
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

  get summary(): QueueSummary {
    const { waiting, held, inFlight } = this.#states
    const all = (one: ProviderCount): number => one.waiting + one.held + one.inFlight
    const providers = [...this.#providers.values()].sort((a, b) => all(b) - all(a))
    const domains = [...this.#domains.values()].sort((a, b) => b.count - a.count)
    return {
      ...{ count: waiting + held + inFlight, waiting, held, inFlight },
      ...{ oldestAt: this.#oldestAt, newestAt: this.#newestAt, teams: this.#teams.size },
      providers: providers.slice(0, MOST_ROWS),
      domains: domains.slice(0, MOST_ROWS),
      ages: this.#ages,
    }
  }
}
