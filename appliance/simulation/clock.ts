import type { Clock } from '../clock/clock.ts'
import { DueHeap } from './due-heap.ts'

interface Timer {
  dueAt: number
  /** Null: canceled. */
  callback: (() => void) | null
}

/** A clock that stands still while code runs, and then jumps to the next timer. */
export class VirtualClock implements Clock {
  #now: number
  readonly #timers = new DueHeap<Timer>()

  /** @param start Unix milliseconds */
  constructor(start: number) {
    this.#now = start
  }

  now(): number {
    return this.#now
  }

  after(ms: number, callback: () => void): () => void {
    const timer: Timer = { dueAt: this.#now + Math.max(0, Math.ceil(ms)), callback }
    this.#timers.push(timer)
    return () => (timer.callback = null)
  }

  /**
   * Runs until `isDone` returns true, until `end`, or until no timer is left.
   * @param end Unix milliseconds
   */
  async run(isDone: () => boolean, end: number): Promise<void> {
    for (;;) {
      await quiet()
      if (isDone()) return
      const next = this.#next()
      if (!next) return
      if (next.dueAt > end) {
        this.#now = end
        return
      }
      this.#now = next.dueAt
      for (let timer: Timer | undefined = next; timer && timer.dueAt <= this.#now; timer = this.#next()) {
        this.#timers.pop()
        timer.callback?.()
      }
    }
  }

  /** Returns the earliest timer that wasn't canceled. */
  #next(): Timer | undefined {
    while (this.#timers.first?.callback === null) this.#timers.pop()
    return this.#timers.first
  }
}

/** Resolves when all promises that can be settled without a timer are settled. */
const quiet = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
