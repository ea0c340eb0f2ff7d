import type { Clock } from '../clock/clock.ts'
import type { Admission, Ask } from './permit.ts'

/** One that waits. */
interface Waiter {
  ask: Ask
  end(admission: Admission): void
}

/** Deliveries that were leased before there was a connection for them, each provider's in the order in which they came. */
export class LaneTurns {
  readonly #clock: Clock
  readonly #decide: (ask: Ask) => Admission
  readonly #lines = new Map<string, Set<Waiter>>()
  #open = true

  /** @param decide what an ask gets now; `busy`: it goes on waiting */
  constructor(clock: Clock, decide: (ask: Ask) => Admission) {
    this.#clock = clock
    this.#decide = decide
  }

  /** Whether somebody is before those who ask now. */
  someoneBefore({ pool, provider }: Ask): boolean {
    const line = this.#lines.get(provider) ?? []
    return [...line].some(({ ask }) => ask.pool === pool)
  }

  /** Waits for a permit, at most `ms` milliseconds: then the answer is still `busy`. */
  wait(ask: Ask, ms: number): Promise<Admission> {
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

  /** Something changed on a provider's lanes: who can go goes, and who need not wait any longer hears why. */
  serve(provider: string): void {
    for (const waiter of this.#lines.get(provider) ?? []) {
      const admission = this.#decide(waiter.ask)
      if (admission.kind !== 'busy') waiter.end(admission)
    }
  }

  /** Nobody waits from now on. */
  close(): void {
    this.#open = false
    for (const line of [...this.#lines.values()]) for (const waiter of line) waiter.end({ kind: 'busy' })
  }
}
