import type { Clock } from '../clock/clock.ts'
import type { PermitDecision, PermitRequest } from './permit.ts'

/** A waiting delivery. */
interface Waiter {
  ask: PermitRequest
  end(admission: PermitDecision): void
}

/** Deliveries leased before there was a connection for them, in order of arrival per provider. */
export class LaneWaitQueue {
  readonly #clock: Clock
  readonly #decide: (ask: PermitRequest) => PermitDecision
  readonly #lines = new Map<string, Set<Waiter>>()
  #open = true

  /**
   * Creates the queue.
   * @param decide returns the answer to a request; `busy` keeps it waiting
   */
  constructor(clock: Clock, decide: (ask: PermitRequest) => PermitDecision) {
    this.#clock = clock
    this.#decide = decide
  }

  /** Whether earlier requests are waiting for the same destination. */
  someoneBefore({ pool, provider }: PermitRequest): boolean {
    const line = this.#lines.get(provider) ?? []
    return [...line].some(({ ask }) => ask.pool === pool)
  }

  /** Waits for a permit, at most `ms` milliseconds. Returns `busy` if there is none by then. */
  wait(ask: PermitRequest, ms: number): Promise<PermitDecision> {
    if (!this.#open) return Promise.resolve({ kind: 'busy' })
    const line = this.#lines.get(ask.provider) ?? new Set<Waiter>()
    this.#lines.set(ask.provider, line)
    return new Promise((resolve) => {
      const waiter: Waiter = {
        ask,
        end: (admission) => {
          cancel()
          line.delete(waiter)
          if (line.size === 0) this.#lines.delete(ask.provider)
          resolve(admission)
        },
      }
      const cancel = this.#clock.after(ms, () => waiter.end({ kind: 'busy' }))
      line.add(waiter)
    })
  }

  /**
   * Grants the permits that are possible now, and ends waits that have become pointless. Call it when a provider's
   * lanes have changed.
   */
  serve(provider: string): void {
    for (const waiter of this.#lines.get(provider) ?? []) {
      const admission = this.#decide(waiter.ask)
      if (admission.kind !== 'busy') waiter.end(admission)
    }
  }

  /** Ends all waits and accepts no new ones. */
  close(): void {
    this.#open = false
    for (const line of [...this.#lines.values()]) for (const waiter of line) waiter.end({ kind: 'busy' })
  }
}
