import type { Clock } from '../clock/clock.ts'
import { RETRY_DELAYS } from '../spool/schedule.ts'
import type { Change, LeasedDelivery, SettleArgs, Storage } from '../storage/storage.ts'
import type { Logger } from '../watch/log.ts'
import { createLanes, type Lanes } from './lanes.ts'

/**
 * Leases due deliveries, hands them to attempts, settles what became of them.
 *
 * 1. Woken by an accepted email, by the time of the next due delivery, or by a poll (other processes write to the spool too).
 * 2. Leases as much as there is room for, a bounded number from each lane, so that no destination blocks another.
 * 3. Deliveries of one email to one lane go together: one conversation, one body.
 * 4. Settles the outcome, and looks again.
 *
 * It never decides what an outcome means, and holds no transaction while an attempt runs.
 */
export interface Dispatcher {
  /** Begins, after voiding the leases of processes that are gone. */
  start(): Promise<void>
  /** Something may be due: look now. */
  wake(): void
  /** Takes nothing new and waits for what is in flight, at most `ms` milliseconds. Returns how many were left behind. */
  stop(ms: number): Promise<number>
}

export interface DispatchDeps {
  storage: Pick<Storage, 'lease' | 'settle' | 'unlease' | 'voidLeases' | 'nextDue'>
  clock: Clock
  log: Logger
  /** Names this process start in leases. */
  owner: string
  attempt: (batch: LeasedDelivery[]) => Promise<SettleArgs>
  /** Told when a report to a sender has fallen due. */
  onReportDue?: (() => void) | undefined
  maxConnections: number
  maxConnectionsPerLane: number
  /** How often to look for changes that other processes made (`posthaste queue retry`), in milliseconds. */
  pollMs: number
}

/** An attempt must end within its lease; a lease outlives the longest attempt (25 minutes) by a margin. */
const LEASE_MS = 30 * 60_000
const ATTEMPT_MS = 25 * 60_000
/** Keeps a due time that nobody can lease from spinning. */
const LEAST_PAUSE_MS = 10
/** Pause after the storage refused to answer. */
const TROUBLE_MS = 1000

/** Splits leased deliveries into batches: one email, one lane. */
export function batches(leased: LeasedDelivery[]): LeasedDelivery[][] {
  const groups = Map.groupBy(leased, (delivery) => `${delivery.emailId} ${delivery.lane}`)
  return [...groups.values()]
}

export function createDispatcher(deps: DispatchDeps): Dispatcher {
  return new Dispatching(deps)
}

class Dispatching implements Dispatcher {
  readonly #deps: DispatchDeps
  readonly #lanes: Lanes
  #stopped = true
  #looking = false
  #lookAgain = false
  #cancelTimer = (): void => undefined

  constructor(deps: DispatchDeps) {
    this.#deps = deps
    this.#lanes = createLanes(deps.maxConnectionsPerLane)
  }

  async start(): Promise<void> {
    const { storage, owner, clock, log } = this.#deps
    const voided = await storage.voidLeases({ owner }, clock.now())
    if (voided > 0) log.info({ deliveries: voided }, 'took over deliveries of an earlier run')
    this.#stopped = false
    this.wake()
  }

  wake(): void {
    if (this.#stopped) return
    this.#lookAgain = true
    if (!this.#looking) void this.#look()
  }

  async stop(ms: number): Promise<number> {
    this.#stopped = true
    this.#cancelTimer()
    const patience = new Promise<void>((resolve) => void this.#deps.clock.after(ms, resolve))
    await Promise.race([this.#lanes.idle(), patience])
    return this.#lanes.inFlight
  }

  /** Takes what is due until there is no room or nothing more, then sleeps until the next due time. */
  async #look(): Promise<void> {
    const { clock, log } = this.#deps
    this.#looking = true
    let pause = TROUBLE_MS
    try {
      do {
        this.#lookAgain = false
        while (await this.#take()) this.#lookAgain = false
        pause = await this.#pause()
      } while (this.#lookAgain)
    } catch (error) {
      log.error({ err: error }, 'the spool did not answer')
    }
    this.#looking = false
    this.#cancelTimer()
    if (!this.#stopped) this.#cancelTimer = clock.after(this.#lookAgain ? 0 : pause, () => this.wake())
  }

  /** One lease; true when there may be more to take. */
  async #take(): Promise<boolean> {
    const { storage, clock, owner, maxConnections, maxConnectionsPerLane } = this.#deps
    const room = maxConnections - this.#lanes.inFlight
    if (this.#stopped || room <= 0) return false
    const now = clock.now()
    const leased = await storage.lease(
      {
        owner,
        limit: room,
        perLane: maxConnectionsPerLane,
        fullLanes: this.#lanes.full(),
        leaseUntil: now + LEASE_MS,
        retryDelays: RETRY_DELAYS,
      },
      now,
    )
    for (const batch of batches(leased)) this.#lanes.run(batch[0]!.lane, () => this.#run(batch))
    return leased.length > 0
  }

  /** Milliseconds to sleep; a finished attempt wakes earlier. */
  async #pause(): Promise<number> {
    const { storage, clock, maxConnections, pollMs } = this.#deps
    if (this.#stopped || this.#lanes.inFlight >= maxConnections) return pollMs
    const due = await storage.nextDue({ fullLanes: this.#lanes.full() }, clock.now())
    return due === undefined ? pollMs : Math.min(pollMs, Math.max(LEAST_PAUSE_MS, due - clock.now()))
  }

  /** What others must know at once: a report that is due, and the end of one that nobody took. */
  #tell({ emailId, recipient, returnPath }: LeasedDelivery, { changes }: SettleArgs): void {
    const { onReportDue, log } = this.#deps
    if (changes.some(({ report }) => report !== null)) onReportDue?.()
    const [{ state, cause }] = changes as [Change]
    if (returnPath === '' && state !== 'waiting' && state !== 'delivered')
      log.warn(
        { email_id: emailId, recipient, state, why: cause.note },
        'a report to a sender did not arrive; nobody is told',
      )
  }

  async #run(batch: LeasedDelivery[]): Promise<void> {
    const { storage, clock, log, owner, attempt } = this.#deps
    const { emailId, leaseUntil } = batch[0]!
    try {
      if (this.#stopped || clock.now() + ATTEMPT_MS > leaseUntil) {
        const deliveryIds = batch.map((delivery) => delivery.id)
        await storage.unlease({ owner, deliveryIds }, clock.now())
        return
      }
      const result = await attempt(batch)
      const { lost } = await storage.settle(result, clock.now())
      this.#tell(batch[0]!, result)
      if (lost.length > 0) log.warn({ email_id: emailId, deliveries: lost }, 'lease lost before settling')
    } catch (error) {
      // The storage could not settle: the lease ends by itself and the delivery is tried again at the time already written.
      log.error({ email_id: emailId, err: error }, 'attempt not settled')
    } finally {
      this.wake()
    }
  }
}
