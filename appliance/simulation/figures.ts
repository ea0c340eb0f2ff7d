/** Counts the results of a simulation. Times are in Unix milliseconds. */
import type { ReceiverLimitName } from '../mail/receiver.ts'
import type { DeliveryChange } from '../storage/storage.ts'
import type { Delivery } from './queue.ts'
import type { Breach, Peaks, Server } from './server.ts'

const DAY = 24 * 3_600_000

/** Results of the broadcast's mail to one receiver. */
export interface ReceiverFigures {
  id: string
  name: string
  /** ID of the provider whose limits apply. */
  provider: string
  mail: number
  delivered: number
  /** Number of emails delivered in the first 24 hours. */
  firstDay: number
  /** Number of emails with a permanent failure. */
  refused: number
  /** Number of attempts that ended with a temporary failure. */
  deferrals: number
  expired: number
  /** Number of emails that weren't final at the end of the simulation. */
  waiting: number
  /** Milliseconds until the last email was delivered; null if none was delivered. */
  finishedAfter: number | null
  /** The highest numbers of a single sending IP, counting all mail. */
  peaks: Peaks
  broken: (Breach & { limit: ReceiverLimitName })[]
}

/** Delays from queuing to acceptance by the receiver, in milliseconds. */
export interface Delays {
  mail: number
  /** Median delay; null if there was no mail. */
  p50: number | null
  p95: number | null
  longest: number | null
}

/** Counts for one receiver. */
interface Count {
  delivered: number
  firstDay: number
  refused: number
  deferrals: number
  expired: number
  lastAt: number | null
}

export class ResultCounter {
  readonly #start: number
  readonly #counts = new Map<string, Count>()
  readonly #delays: number[] = []
  /** Broadcast mail delivered in each minute since the start, by receiver. */
  readonly minutes = new Map<string, Map<number, number>>()

  constructor(start: number) {
    this.#start = start
  }

  /** Counts the result of an attempt. */
  settled(delivery: Delivery, { state }: DeliveryChange, now: number): void {
    if (delivery.stream === 'transactional') {
      if (state === 'delivered') this.#delays.push(now - delivery.createdAt)
      return
    }
    const { id } = delivery.to.receiver
    const count = this.#countOf(id)
    if (state === 'waiting') count.deferrals += 1
    else if (state === 'expired') count.expired += 1
    else if (state !== 'delivered') count.refused += 1
    else {
      count.delivered += 1
      if (now - this.#start < DAY) count.firstDay += 1
      count.lastAt = now
      const minutes = this.minutes.get(id) ?? new Map<number, number>()
      const minute = Math.floor((now - this.#start) / 60_000)
      minutes.set(minute, (minutes.get(minute) ?? 0) + 1)
      this.minutes.set(id, minutes)
    }
  }

  /** Returns the results of a receiver's mail. */
  figuresOf({ receiver, peaks, breaches }: Server, provider: string, mail: number): ReceiverFigures {
    const { delivered, firstDay, refused, deferrals, expired, lastAt } = this.#countOf(receiver.id)
    return {
      id: receiver.id,
      name: receiver.name,
      provider,
      mail,
      delivered,
      firstDay,
      refused,
      deferrals,
      expired,
      waiting: mail - delivered - refused - expired,
      finishedAfter: lastAt === null ? null : lastAt - this.#start,
      peaks,
      broken: breaches,
    }
  }

  /**
   * Returns the delays of transactional mail.
   * @param waiting mail that still waits; its age counts as its delay
   */
  delays(waiting: Iterable<Delivery>, now: number): Delays {
    const ages = [...waiting]
      .filter(({ stream, attempts }) => stream === 'transactional' && attempts > 0)
      .map(({ createdAt }) => now - createdAt)
    const all = [...this.#delays, ...ages].sort((a, b) => a - b)
    const at = (share: number): number | null =>
      all[Math.min(all.length - 1, Math.ceil(share * all.length) - 1)] ?? null
    return { mail: all.length, p50: at(0.5), p95: at(0.95), longest: at(1) }
  }

  #countOf(id: string): Count {
    let count = this.#counts.get(id)
    if (!count) {
      count = { delivered: 0, firstDay: 0, refused: 0, deferrals: 0, expired: 0, lastAt: null }
      this.#counts.set(id, count)
    }
    return count
  }
}
