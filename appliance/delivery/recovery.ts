/**
 * Recovers leased deliveries without an attempt in this process: those leased by earlier runs, and those of unconfirmed
 * leases.
 */
import type { Clock } from '../clock/clock.ts'
import { INTERRUPTED_CAUSE } from '../mail/verdict.ts'
import { INTERRUPTED_DELAY } from '../queue/schedule.ts'
import type { LeaseArgs, LeasedDelivery, Storage } from '../storage/storage.ts'
import type { Logger } from '../watch/log.ts'
import { isEarlierRun } from '../mail/ids.ts'

export type LeaseStorage = Pick<Storage, 'lease' | 'leasedUntil' | 'unlease' | 'leaseOwners' | 'voidLeases'>

interface LeasesDeps {
  storage: LeaseStorage
  clock: Clock
  log: Logger
  /** Whether this process has the delivery in flight. */
  isFlying: (id: string) => boolean
}

/** Whether a storage error is temporary, so that the same write may succeed later. */
export function isTemporaryError(error: unknown): boolean {
  const { kind } = error as { kind?: unknown }
  return kind === 'full' || kind === 'transient' || kind === 'ambiguous'
}

/** Voids the leases of earlier runs of the owner's node only, because other nodes may be running. */
export async function recoverLeases(
  { storage, owner, log }: { storage: LeaseStorage; owner: string; log: Logger },
  now: number,
): Promise<void> {
  const owners = (await storage.leaseOwners({}, now)).filter((one) => isEarlierRun(one, owner))
  if (owners.length === 0) return
  const firstDueAt = now + INTERRUPTED_DELAY
  const voided = await storage.voidLeases({ owners, cause: INTERRUPTED_CAUSE, firstDueAt }, now)
  log.info({ deliveries: voided }, 'recovered deliveries that an earlier run left in progress')
}

/**
 * Leases deliveries, and returns those that no attempt will settle, which would otherwise wait until the lease ends.
 * When storage fails, for example because its server was killed after the commit, it may have leased deliveries whose
 * IDs never arrived here.
 */
export class Leases {
  /** `leaseUntil` of failed calls. */
  readonly #unconfirmed = new Set<number>()
  readonly #returning = new Set<string>()
  readonly #deps: LeasesDeps

  constructor(deps: LeasesDeps) {
    this.#deps = deps
  }

  /** Schedules unsent deliveries to be returned before the next lease, so that they are due soon. */
  returnLater(deliveries: readonly Pick<LeasedDelivery, 'id'>[]): void {
    for (const { id } of deliveries) this.#returning.add(id)
  }

  /**
   * Leases deliveries, after returning those that are due to be returned.
   * @throws what storage throws; the next call returns the rest
   */
  async lease(args: LeaseArgs, now: number): Promise<LeasedDelivery[]> {
    await this.#giveBackLater(args.owner)
    for (const leaseUntil of this.#unconfirmed) await this.#giveBack(args.owner, leaseUntil)
    try {
      return await this.#deps.storage.lease(args, now)
    } catch (error) {
      this.#unconfirmed.add(args.leaseUntil)
      throw error
    }
  }

  async #giveBackLater(owner: string): Promise<void> {
    const deliveryIds = [...this.#returning]
    if (deliveryIds.length === 0) return
    const now = this.#deps.clock.now()
    await this.#deps.storage.unlease({ owner, deliveryIds, dueAt: now + INTERRUPTED_DELAY }, now)
    for (const id of deliveryIds) this.#returning.delete(id)
  }

  async #giveBack(owner: string, leaseUntil: number): Promise<void> {
    const { storage, clock, log, isFlying } = this.#deps
    const leased = await storage.leasedUntil({ owner, leaseUntil }, clock.now())
    const deliveryIds = leased.filter((id) => !isFlying(id))
    if (deliveryIds.length > 0) {
      await storage.unlease({ owner, deliveryIds }, clock.now())
      log.info({ deliveries: deliveryIds.length }, 'returned deliveries whose lease was not confirmed')
    }
    this.#unconfirmed.delete(leaseUntil)
  }
}
