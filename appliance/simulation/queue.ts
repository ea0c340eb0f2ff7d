/**
 * The queue of a simulation, in memory. It has the same order as the real queue: streams take turns, and so do
 * destinations.
 */
import {
  formatDestination,
  includesPool,
  toProviderPlaceholder,
  type PoolFilter,
  type Stream,
} from '../mail/queue.ts'
import { STREAMS } from '../mail/source.ts'
import {
  FairQueue,
  type DeliveryChange,
  type LeaseArgs,
  type LeasedDelivery,
  type SettleArgs,
} from '../storage/storage.ts'
import { DueHeap } from './due-heap.ts'
import type { Recipient } from './recipients.ts'

/** One email to one recipient. Times are in Unix milliseconds. */
export interface Delivery {
  id: string
  to: Recipient
  stream: Stream
  pool: string
  attempts: number
  createdAt: number
  expiresAt: number
  dueAt: number
}

/** Receives the results of deliveries. */
export interface Listener {
  /** Called with the result of each attempt. */
  settled(delivery: Delivery, change: DeliveryChange, now: number): void
}

/** The deliveries of one destination. */
interface Line {
  pool: string
  provider: string
  due: Record<Stream, DueHeap<Delivery>>
}

const TEAM = 'team'
const DOMAIN = 'domain'

export class SimulatedQueue {
  readonly #lines = new Map<string, Line>()
  readonly #leased = new Map<string, Delivery>()
  /** The provider of each domain that was looked up. */
  readonly #providers = new Map<string, string>()
  readonly #turns = new FairQueue()
  readonly #listener: Listener
  #number = 0

  constructor(listener: Listener) {
    this.#listener = listener
  }

  /**
   * Queues an email.
   * @returns the provider of its domain; empty if it isn't known yet
   */
  add(mail: Pick<Delivery, 'to' | 'stream' | 'pool' | 'expiresAt'>, now: number): string {
    const delivery = { ...mail, id: String(this.#number++), attempts: 0, createdAt: now, dueAt: now }
    this.#push(delivery)
    return this.#providers.get(mail.to.domain) ?? ''
  }

  /** Returns the provider of a domain; empty if it isn't known yet. */
  providerOf(domain: string): string {
    return this.#providers.get(domain) ?? ''
  }

  /** Deliveries that are queued or in flight. */
  *all(): Generator<Delivery> {
    yield* this.#leased.values()
    for (const { due } of this.#lines.values()) for (const stream of STREAMS) yield* due[stream].items
  }

  lease({ limit, room, roomElse, leaseUntil, retryDelays, pools }: LeaseArgs, now: number): LeasedDelivery[] {
    const isOpen = (line: Line): boolean => dueAtOf(line) <= now && includesPool(pools, `${line.pool}/`)
    const open = [...this.#lines.entries()]
      .filter(([, line]) => isOpen(line))
      .map(([name, line]) => ({ name, line, left: room[name] ?? roomElse }))
      .sort((a, b) => dueAtOf(a.line) - dueAtOf(b.line))
    const taken: LeasedDelivery[] = []
    for (let round = open; taken.length < limit;) {
      round = round.filter(({ line, left }) => left > 0 && dueAtOf(line) <= now)
      if (round.length === 0) break
      for (const one of round.slice(0, limit - taken.length)) {
        one.left -= 1
        const delivery = this.#next(one.name, one.line, now)
        delivery.attempts += 1
        delivery.dueAt = now + (retryDelays[delivery.attempts - 1] ?? retryDelays.at(-1)!)
        this.#leased.set(delivery.id, delivery)
        taken.push(toLeased(delivery, one.line.provider, leaseUntil))
      }
    }
    return taken
  }

  settle({ changes }: SettleArgs, now: number): { lost: string[] } {
    for (const change of changes) {
      const delivery = this.#leased.get(change.deliveryId)
      if (!delivery) continue
      this.#leased.delete(delivery.id)
      this.#listener.settled(delivery, change, now)
      if (change.state !== 'waiting') continue
      delivery.dueAt = change.dueAt ?? now
      this.#push(delivery)
    }
    return { lost: [] }
  }

  unlease({ deliveryIds, dueAt }: { deliveryIds: string[]; dueAt?: number | undefined }, now: number): void {
    for (const id of deliveryIds) {
      const delivery = this.#leased.get(id)
      if (!delivery) continue
      this.#leased.delete(id)
      delivery.attempts -= 1
      delivery.dueAt = dueAt ?? now
      this.#push(delivery)
    }
  }

  /** Returns when the next delivery is due, except for closed destinations. */
  nextDue({ closed, pools }: { closed: string[]; pools?: PoolFilter | undefined }): number | undefined {
    let next = Infinity
    for (const [name, line] of this.#lines)
      if (!closed.includes(name) && includesPool(pools, name)) next = Math.min(next, dueAtOf(line))
    return next === Infinity ? undefined : next
  }

  /** Records the provider of a domain, and moves the domain's queued mail to it. */
  place({ domain, provider }: { domain: string; provider: string }): number {
    this.#providers.set(domain, provider)
    let count = 0
    for (const [name, line] of this.#lines) {
      if (line.provider !== toProviderPlaceholder(domain)) continue
      this.#lines.delete(name)
      for (const stream of STREAMS)
        for (const delivery of line.due[stream].items) {
          this.#push(delivery)
          count += 1
        }
    }
    return count
  }

  #push(delivery: Delivery): void {
    const { pool, stream, to } = delivery
    const provider = this.#providers.get(to.domain) ?? toProviderPlaceholder(to.domain)
    const name = formatDestination({ pool, provider })
    let line = this.#lines.get(name)
    if (!line) {
      line = { pool, provider, due: { transactional: new DueHeap(), broadcast: new DueHeap() } }
      this.#lines.set(name, line)
    }
    line.due[stream].push(delivery)
  }

  /** Removes and returns the due delivery of the stream whose turn it is. */
  #next(name: string, { due }: Line, now: number): Delivery {
    const waiting = STREAMS.flatMap((stream) => {
      const first = due[stream].first
      if (!first || first.dueAt > now) return []
      return [{ stream, party: stream, dueAt: first.dueAt, rank: first.dueAt }]
    })
    const chosen = this.#turns.next(name, waiting, 'rank')
    this.#turns.took(name, chosen, 1, waiting)
    return due[chosen.stream].pop()!
  }
}

/** Returns when the first delivery of a destination is due; Infinity if it has none. */
const dueAtOf = ({ due }: Line): number =>
  Math.min(due.transactional.first?.dueAt ?? Infinity, due.broadcast.first?.dueAt ?? Infinity)

function toLeased(delivery: Delivery, provider: string, leaseUntil: number): LeasedDelivery {
  const { id, to, pool, stream, attempts, createdAt, expiresAt, dueAt } = delivery
  return {
    id,
    teamId: TEAM,
    emailId: id,
    domainId: DOMAIN,
    recipient: to.address,
    domain: to.domain,
    pool,
    provider,
    stream,
    attempts,
    createdAt,
    expiresAt,
    leaseUntil,
    returnPath: 'bounce@sender.test',
    scheduledAt: null,
    reportTo: null,
    dsn: { ret: null, envid: null, notify: null, orcpt: null },
    requireTls: null,
    dueAt,
    touchedAt: null,
  }
}
