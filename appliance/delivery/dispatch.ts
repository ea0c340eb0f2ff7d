import PQueue from 'p-queue'
import { RETRY_DELAYS } from '../queue/schedule.ts'
import type { DeliveryChange, LeasedDelivery, SettleArgs } from '../storage/storage.ts'
import { splitIntoBatches, NotSentError, type AttemptResult } from './attempt.ts'
import { MAX_ATTEMPT_DURATION } from './deadlines.ts'
import { DEFAULT_CAPACITY } from './lanes.ts'
import { logOutcomes } from './outcome-log.ts'
import type { LeaseCapacity } from './permit.ts'
import { Leases, isTemporaryError, recoverLeases } from './recovery.ts'
import { type Dispatcher, type DispatchDeps } from './dispatch-deps.ts'

/** Lease time: the longest attempt, so that no other process leases the delivery, and some time for settling. */
const LEASE_MS = MAX_ATTEMPT_DURATION + 5 * 60_000
/** Prevents a busy loop when a due delivery can't be leased. */
const LEAST_PAUSE_MS = 10
/** Pause after a run when destinations lack capacity, so that emails accepted meanwhile are handled together. */
const REST_MS = 5
/** Pause after a storage failure. */
const TROUBLE_MS = 1000
/** How long a stop waits after destroying sockets, because attempts may still wait for DNS, a policy or the disk. */
const ABANDONED_MS = 3000
/** Maximum age of sources, settings and operators' pauses. */
const REFRESH_MS = 1000

/** Whether an attempt's deliveries are queued again, so that there is a new time to wake at. */
const waitsAgain = ({ settle, giveBack }: AttemptResult): boolean =>
  giveBack !== null || settle?.changes.some(({ state }) => state === 'waiting') === true

export function createDispatcher(deps: DispatchDeps): Dispatcher {
  return new Dispatching(deps)
}

class Dispatching implements Dispatcher {
  readonly #deps: DispatchDeps
  /** Attempts in flight, at most `maxConnections` at once. The queue in storage is authoritative. */
  readonly #attempts: PQueue
  /** Deliveries in flight. When the clock jumps, their leases expire, and they may be leased once more. */
  readonly #flying = new Set<string>()
  readonly #leases: Leases
  /**
   * Deliveries in flight whose result couldn't be stored yet. If they were returned, the recipients would get the
   * message again.
   */
  readonly #unstored = new Set<string>()
  /** When the last lease was requested. */
  #askedAt = 0
  /** Deliveries that ended after that request, under leases expired by then. The response may list their old state. */
  readonly #landed = new Set<string>()
  #stopped = true
  /** Set when the stop is complete. Attempts that end later have already been returned. */
  #over = false
  #looking = false
  /** Resolves when the last run has ended. */
  #looked = Promise.resolve()
  #lookAgain = false
  /** Whether new capacity became available, so that the pause must be skipped. */
  #newRoom = false
  #restUntil = 0
  /** Whether the last run reached the limit of concurrent attempts. */
  #full = false
  /** When sources, settings and lanes were last read; null when they are outdated. */
  #refreshedAt: number | null = null
  #cancelTimer = (): void => undefined

  constructor(deps: DispatchDeps) {
    this.#deps = deps
    this.#attempts = new PQueue({ concurrency: deps.maxConnections })
    this.#leases = new Leases({ ...deps, isFlying: (id) => this.#flying.has(id) })
  }

  get #inFlight(): number {
    return this.#attempts.size + this.#attempts.pending
  }

  #isFenced(): boolean {
    return (this.#deps.fenced?.() ?? null) !== null
  }

  async start(): Promise<void> {
    const { lanes, clock } = this.#deps
    await recoverLeases(this.#deps, clock.now())
    await lanes.refresh()
    this.#refreshedAt = clock.now()
    this.#stopped = false
    this.wake()
  }

  wake(): void {
    if (this.#stopped) return
    this.#lookAgain = true
    if (this.#looking) return
    const rest = this.#rest()
    if (rest > 0) this.#sleep(rest)
    else this.#looked = this.#look()
  }

  /** Wakes without a pause, because there is new capacity. */
  #wakeNow(): void {
    this.#newRoom = true
    this.wake()
  }

  /** Returns the milliseconds until the next run may begin; ignores a clock that was set back. */
  #rest(): number {
    const left = this.#restUntil - this.#deps.clock.now()
    return this.#newRoom || left <= 0 || left > REST_MS ? 0 : left
  }

  #sleep(ms: number): void {
    this.#cancelTimer()
    this.#cancelTimer = this.#deps.clock.after(ms, () => this.#wakeNow())
  }

  changed(): void {
    this.#refreshedAt = null
    this.#wakeNow()
  }

  async stop(ms: number): Promise<number> {
    this.#stopped = true
    this.#cancelTimer()
    this.#deps.lanes.dismiss()
    // Deliveries that a run still leases are returned before the end.
    const done = this.#looked.then(() => this.#attempts.onIdle())
    await Promise.race([done, this.#patience(ms)])
    const interrupted = this.#inFlight
    if (interrupted > 0) {
      this.#deps.abandon()
      await Promise.race([done, this.#patience(ABANDONED_MS)])
    }
    this.#over = true
    await this.#giveBackRest()
    return interrupted
  }

  #patience(ms: number): Promise<void> {
    return new Promise<void>((resolve) => void this.#deps.clock.after(ms, resolve))
  }

  /** Returns the deliveries of attempts that didn't end, as if never leased. Nothing was sent for them. */
  async #giveBackRest(): Promise<void> {
    const { storage, clock, owner, log } = this.#deps
    const deliveryIds = [...this.#flying].filter((id) => !this.#unstored.has(id))
    if (deliveryIds.length === 0) return
    try {
      await storage.unlease({ owner, deliveryIds }, clock.now())
    } catch (error) {
      log.warn({ err: error, deliveries: deliveryIds.length }, 'deliveries stay leased until the next start')
    }
  }

  /** Handles due deliveries, then sleeps until there may be more. */
  async #look(): Promise<void> {
    const { log } = this.#deps
    this.#looking = true
    let pause = TROUBLE_MS
    try {
      do {
        this.#lookAgain = false
        this.#newRoom = false
        await this.#refresh()
        pause = await this.#round()
      } while (this.#lookAgain && this.#rest() === 0)
    } catch (error) {
      log.error({ err: error }, 'could not read due deliveries from the spool')
    }
    this.#looking = false
    if (!this.#stopped) this.#sleep(this.#lookAgain ? this.#rest() : pause)
  }

  /** Leases until no due delivery has capacity; returns how long to sleep, in milliseconds. */
  async #round(): Promise<number> {
    const { lanes, clock, maxConnections, pollMs } = this.#deps
    for (;;) {
      const limit = maxConnections - this.#inFlight
      this.#full = limit <= 0
      if (this.#stopped || this.#full || this.#isFenced()) return pollMs
      const taken = await this.#take(limit)
      // A full lease may have left due deliveries behind; after a smaller one, no more are due now.
      if (taken >= limit) continue
      if (taken > 0) return LEAST_PAUSE_MS
      const pause = await this.#pause()
      const now = clock.now()
      if (lanes.room(now).closed.length > 0) this.#restUntil = now + REST_MS
      return pause
    }
  }

  /** Reads changes by other processes to sources, settings and lanes. */
  async #refresh(): Promise<void> {
    const { lanes, clock } = this.#deps
    const now = clock.now()
    const age = this.#refreshedAt === null ? REFRESH_MS : now - this.#refreshedAt
    if (age >= 0 && age < REFRESH_MS) return
    this.#refreshedAt = now
    await lanes.refresh()
  }

  /** Leases once; returns the number of deliveries leased. */
  async #take(limit: number): Promise<number> {
    const { lanes, clock, owner } = this.#deps
    const now = clock.now()
    const { room, pools } = lanes.room(now)
    this.#askedAt = now
    this.#landed.clear()
    const leased = await this.#leases.lease(
      {
        owner,
        limit,
        room,
        pools,
        roomElse: DEFAULT_CAPACITY,
        leaseUntil: now + LEASE_MS,
        retryDelays: RETRY_DELAYS,
      },
      now,
    )
    for (const batch of splitIntoBatches(this.#notFlying(leased))) {
      const placed = lanes.reserve(batch[0]!)
      void this.#attempts.add(() => this.#run(batch, placed)).then(() => this.#full && this.#wakeNow())
    }
    return leased.length
  }

  /**
   * Marks new deliveries as in flight and returns them. A delivery that is already in flight continues under the
   * renewed lease.
   */
  #notFlying(leased: LeasedDelivery[]): LeasedDelivery[] {
    const fresh = leased.filter(({ id }) => !this.#flying.has(id) && !this.#landed.has(id))
    for (const { id } of fresh) this.#flying.add(id)
    const twice = leased.length - fresh.length
    if (twice > 0)
      this.#deps.log.warn(
        { deliveries: twice },
        'leases expired before their attempts ended, because the clock jumped forward; nothing is sent twice',
      )
    return fresh
  }

  /** Returns milliseconds to sleep; a finished attempt wakes earlier. */
  async #pause(): Promise<number> {
    const { storage, lanes, clock, pollMs } = this.#deps
    const { closed, opensAt, pools }: LeaseCapacity = lanes.room(clock.now())
    const due = await storage.nextDue({ closed, pools }, clock.now())
    const next = Math.min(due ?? Infinity, opensAt ?? Infinity)
    return Math.min(pollMs, Math.max(LEAST_PAUSE_MS, next - clock.now()))
  }

  /** Announces due reports, and logs reports that couldn't be delivered. */
  #tell({ emailId, domain, returnPath }: LeasedDelivery, { changes }: SettleArgs): void {
    const { onReportDue, log } = this.#deps
    if (changes.some(({ report }) => report !== null)) onReportDue?.()
    const [{ state, cause }] = changes as [DeliveryChange]
    if (returnPath === '' && state !== 'waiting' && state !== 'delivered')
      log.warn(
        { email_id: emailId, domain, state, why: cause.note },
        'a bounce report could not be delivered to the sender; it is dropped without another report',
      )
  }

  async #run(batch: LeasedDelivery[], placed: () => void): Promise<void> {
    const { clock, log, lanes, attempt } = this.#deps
    const { emailId, leaseUntil } = batch[0]!
    let tried: AttemptResult | undefined
    try {
      const tooLate = this.#isFenced() || clock.now() + MAX_ATTEMPT_DURATION > leaseUntil
      if (this.#stopped || tooLate) return await this.#giveBack(batch)
      tried = await attempt(batch, placed)
      placed()
      if (this.#over) return
      // The connection is free. Lease the next deliveries for it while this one is being settled.
      if (lanes.isLow(batch[0]!)) this.#wakeNow()
      await this.#conclude(batch, tried)
    } catch (error) {
      if (this.#over) return
      this.#land(batch)
      if (error instanceof NotSentError && isTemporaryError(error.cause)) {
        log.warn({ email_id: emailId, err: error.cause }, 'could not begin an attempt; it begins again soon')
        this.#leases.returnLater(batch)
        return
      }
      // No result was stored. The lease expires, and the delivery is retried at the time already stored.
      const didBegin = !(error instanceof NotSentError)
      const err = didBegin ? error : error.cause
      log.error({ email_id: emailId, err }, `could not ${didBegin ? 'settle' : 'begin'} an attempt`)
    } finally {
      placed()
      const waited = tried?.settled() ?? true
      if (waited || !tried?.settle || waitsAgain(tried)) this.#wakeNow()
    }
  }

  async #conclude(batch: LeasedDelivery[], { settle, giveBack }: AttemptResult): Promise<void> {
    if (settle) await this.#settle(batch, settle)
    if (giveBack) {
      const left = batch.filter(({ id }) => giveBack.deliveryIds.includes(id))
      await this.#giveBack(left, giveBack.dueAt)
    }
    if (!settle && !giveBack) this.#land(batch)
  }

  async #settle(batch: LeasedDelivery[], result: SettleArgs): Promise<void> {
    const { log } = this.#deps
    const { lost } = await this.#store(batch, result)
    this.#tell(batch[0]!, result)
    logOutcomes(log, batch, result, lost)
    if (lost.length > 0)
      log.warn({ email_id: batch[0]!.emailId, deliveries: lost }, 'lost a lease before settling the attempt')
  }

  /**
   * Stores a result. While the disk is full, keeps it in memory; otherwise, the recipients would get the message again.
   */
  async #store(batch: LeasedDelivery[], result: SettleArgs): Promise<{ lost: string[] }> {
    const { storage, clock, log } = this.#deps
    for (let tries = 1; ; tries++) {
      try {
        this.#land(batch)
        return await storage.settle(result, clock.now())
      } catch (error) {
        if (this.#over || !isTemporaryError(error) || clock.now() >= batch[0]!.leaseUntil) throw error
        for (const { id } of batch) this.#flying.add(id)
        for (const { id } of batch) this.#unstored.add(id)
        if (tries === 1)
          log.error(
            { email_id: batch[0]!.emailId, err: error },
            'could not store the outcome of an attempt; retrying every second until its lease ends',
          )
        await this.#patience(TROUBLE_MS)
      }
    }
  }

  /** Ends deliveries in flight. Call before storing, because they may be leased again before storage answers. */
  #land(batch: readonly LeasedDelivery[]): void {
    for (const { id, leaseUntil } of batch) {
      this.#flying.delete(id)
      this.#unstored.delete(id)
      if (leaseUntil <= this.#askedAt) this.#landed.add(id)
    }
  }

  async #giveBack(batch: readonly LeasedDelivery[], dueAt?: number): Promise<void> {
    const { storage, clock, owner } = this.#deps
    this.#land(batch)
    const deliveryIds = batch.map(({ id }) => id)
    try {
      await storage.unlease({ owner, deliveryIds, dueAt }, clock.now())
    } catch (error) {
      if (!isTemporaryError(error)) throw error
      this.#leases.returnLater(batch)
    }
  }
}
