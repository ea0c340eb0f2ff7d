/** Queues the mail of a simulation: the broadcast as fast as a real one is queued, other mail as it arrives. */
import { createQueueLimitsLoader, type LaneRate } from '../broadcasts/broadcasts.ts'
import type { Clock } from '../clock/clock.ts'
import { BROADCAST_LIFETIME_MS } from '../mail/broadcast.ts'
import { RETRY_PERIOD } from '../queue/schedule.ts'
import type { SimulatedQueue } from './queue.ts'
import type { Recipient } from './recipients.ts'

/** How often a broadcast checks for free capacity in the queue, in milliseconds. The same as for real broadcasts. */
const CHECK_MS = 1000
const HOUR = 3_600_000

/**
 * Size of a large broadcast's first batch, number of recipients above which a broadcast is large, and maximum time that
 * the other recipients wait for the first batch.
 */
const CANARY = 100
const LARGE = 2000
const CANARY_MS = 5 * 60_000

export interface BroadcastFeed {
  /** Whether all recipients have been queued. */
  readonly isDone: boolean
  /** Number of recipients that aren't queued yet. */
  readonly left: number
  start(): void
  /** Records a result. `first`: it was the recipient's first result. `final`: it was the last one. */
  settled(domain: string, first: boolean, final: boolean): void
}

interface FeedDeps {
  clock: Clock
  queue: SimulatedQueue
  pool: string
  /** Returns the current rates of the lanes. */
  laneRates: () => Promise<LaneRate[]>
  wake: () => void
}

/**
 * Queues a broadcast as `broadcasts/runner.ts` does: a first batch, then up to a quarter of an hour of mail per
 * provider.
 */
export function feedBroadcast(recipients: readonly Recipient[], deps: FeedDeps): BroadcastFeed {
  return new Feed(recipients, deps)
}

class Feed implements BroadcastFeed {
  readonly #deps: FeedDeps
  readonly #windows: ReturnType<typeof createQueueLimitsLoader>
  /** Recipients not queued yet, by domain, in order. */
  readonly #waiting: Map<string, { all: Recipient[]; next: number }>
  /** Queued mail by domain. */
  readonly #load = new Map<string, number>()
  readonly #large: boolean
  #startedAt = 0
  #queued = 0
  /** Number of recipients with at least one attempt. */
  #attempted = 0

  constructor(recipients: readonly Recipient[], deps: FeedDeps) {
    this.#deps = deps
    this.#windows = createQueueLimitsLoader(deps)
    const lists = Map.groupBy(recipients, ({ domain }) => domain)
    this.#waiting = new Map([...lists].map(([domain, all]) => [domain, { all, next: 0 }]))
    this.#large = recipients.length > LARGE
  }

  get isDone(): boolean {
    return this.#waiting.size === 0
  }

  get left(): number {
    return [...this.#waiting.values()].reduce((sum, { all, next }) => sum + all.length - next, 0)
  }

  start(): void {
    this.#startedAt = this.#deps.clock.now()
    void this.#step()
  }

  settled(domain: string, first: boolean, final: boolean): void {
    if (first) this.#attempted += 1
    if (final) this.#load.set(domain, (this.#load.get(domain) ?? 1) - 1)
  }

  async #step(): Promise<void> {
    const { clock, wake } = this.#deps
    const before = this.#queued
    await this.#enqueue()
    if (this.#queued > before) wake()
    if (!this.isDone) clock.after(CHECK_MS, () => void this.#step())
  }

  /** Fills the window of each provider, alternating between domains. */
  async #enqueue(): Promise<void> {
    const { queue, pool } = this.#deps
    const windows = (await this.#windows())(pool)
    const canary = this.#large && this.#attempted < CANARY && this.#isYoung()
    let most = canary ? CANARY - this.#queued : Infinity
    const load = new Map<string, number>()
    for (const [domain, n] of this.#load) {
      const provider = queue.providerOf(domain)
      load.set(provider, (load.get(provider) ?? 0) + n)
    }
    const open = new Set(this.#waiting.keys())
    while (most > 0 && open.size > 0)
      for (const domain of open) {
        const provider = queue.providerOf(domain)
        const used = load.get(provider) ?? 0
        if (most <= 0 || used >= windows.of(provider) || !this.#add(domain)) {
          open.delete(domain)
          continue
        }
        load.set(provider, used + 1)
        most -= 1
      }
  }

  #isYoung(): boolean {
    return this.#deps.clock.now() - this.#startedAt < CANARY_MS
  }

  /** Queues the next recipient of a domain; false if there is none. */
  #add(domain: string): boolean {
    const { clock, queue, pool } = this.#deps
    const list = this.#waiting.get(domain)
    const to = list?.all[list.next]
    if (!list || !to) return false
    const now = clock.now()
    queue.add({ to, stream: 'broadcast', pool, expiresAt: now + BROADCAST_LIFETIME_MS }, now)
    list.next += 1
    if (list.next === list.all.length) this.#waiting.delete(domain)
    this.#queued += 1
    this.#load.set(domain, (this.#load.get(domain) ?? 0) + 1)
    return true
  }
}

/**
 * Queues single emails at random times until `isOver` returns true.
 * @param perHour mean number per hour
 */
export function feedTransactionalMail(
  perHour: number,
  recipient: () => Recipient,
  deps: Pick<FeedDeps, 'clock' | 'queue' | 'pool' | 'wake'> & { random: () => number; isOver: () => boolean },
): void {
  const { clock, queue, pool, wake, random, isOver } = deps
  const next = (): void => {
    const wait = (-Math.log(1 - random()) * HOUR) / perHour
    clock.after(wait, () => {
      if (isOver()) return
      const now = clock.now()
      queue.add({ to: recipient(), stream: 'transactional', pool, expiresAt: now + RETRY_PERIOD }, now)
      wake()
      next()
    })
  }
  if (perHour > 0) next()
}
