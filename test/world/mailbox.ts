import { PATIENCE } from './patience.ts'

/** A message that an exchanger accepted, and how it arrived. */
export interface Arrival {
  envelope: { from: string; to: string[] }
  /** The bytes between DATA and the final dot, with dot-stuffing removed (RFC 5321 §4.5.2). */
  raw: Buffer
  /** The TLS session; null for plain text. */
  tls: { version: string; cipher: string } | null
  session: { id: string; ehlo: string; clientAddress: string; transaction: number }
}

/** The messages that arrived at one exchanger, oldest first. */
export class Mailbox extends Array<Arrival> {
  static override get [Symbol.species](): ArrayConstructor {
    return Array
  }

  readonly #waiting = new Set<() => void>()

  /** Adds a message and wakes up waiters. */
  receive(arrival: Arrival): void {
    this.push(arrival)
    for (const look of this.#waiting) look()
  }

  /** Resolves with the first `count` messages. After `timeoutMs`, rejects and says how many arrived. */
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
