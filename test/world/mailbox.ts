import { PATIENCE } from './patience.ts'

/** A message that an exchanger took, with all that is known about how it came. */
export interface Arrival {
  envelope: { from: string; to: string[] }
  /** The bytes between DATA and the final dot, dots removed as RFC 5321 §4.5.2 says. */
  raw: Buffer
  /** What carried it; null for plain text. */
  tls: { version: string; cipher: string } | null
  session: { id: string; ehlo: string; clientAddress: string; transaction: number }
}

/** What arrived at one exchanger, oldest first. */
export class Mailbox extends Array<Arrival> {
  static override get [Symbol.species](): ArrayConstructor {
    return Array
  }

  readonly #waiting = new Set<() => void>()

  /** Adds a message and wakes who waits for it. */
  receive(arrival: Arrival): void {
    this.push(arrival)
    for (const look of this.#waiting) look()
  }

  /** Resolves with the first `count` messages once they are there; rejects after `timeoutMs` and tells how many were. */
  waitFor(count: number, timeoutMs = PATIENCE): Promise<Arrival[]> {
    return new Promise((resolve, reject) => {
      const look = () => {
        if (this.length < count) return
        clearTimeout(timer)
        this.#waiting.delete(look)
        resolve(this.slice(0, count))
      }
      const timer = setTimeout(() => {
        this.#waiting.delete(look)
        reject(new Error(`${this.length} of ${count} messages arrived within ${timeoutMs} ms`))
      }, timeoutMs)
      this.#waiting.add(look)
      look()
    })
  }
}
