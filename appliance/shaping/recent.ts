/** How many messages a lane began in each of the last minutes. In memory only: after a restart it begins empty. */

/** So many minutes are remembered. */
export const RECENT_MINUTES = 60
const MINUTE = 60_000

/** What a lane of a running daemon does now. */
export interface LaneActivity {
  /** Messages that are being sent. */
  inFlight: number
  /** Messages that began in the last 60 seconds, as far as whole minutes tell. */
  lastMinute: number
  /** Messages that began in each of the last 60 minutes of the clock, the oldest first. */
  minutes: number[]
}

/** Counts of one lane, 240 bytes whatever it sends. Times in Unix milliseconds. */
export class RecentMessages {
  readonly #counts = new Uint32Array(RECENT_MINUTES)
  /** The minute that was counted last. */
  #minute = 0

  /** One message begins. */
  count(now: number): void {
    const at = this.#turn(now)
    this.#counts[at] = this.#counts[at]! + 1
  }

  /** By minute, the oldest first; the last one is not over yet. */
  minutes(now: number): number[] {
    const newest = this.#turn(now)
    return Array.from({ length: RECENT_MINUTES }, (_, at) => {
      return this.#counts[(newest + 1 + at) % RECENT_MINUTES]!
    })
  }

  /** In the last 60 seconds, taking the minute before as even. */
  lastMinute(now: number): number {
    const minutes = this.minutes(now)
    const [before, current] = [minutes.at(-2)!, minutes.at(-1)!]
    return Math.round(current + before * (1 - (now % MINUTE) / MINUTE))
  }

  /** Empties the minutes since the last call; returns the place of the current one. A clock that was set back stays where it was. */
  #turn(now: number): number {
    const minute = Math.max(this.#minute, Math.floor(now / MINUTE))
    const passed = Math.min(minute - this.#minute, RECENT_MINUTES)
    for (let back = 0; back < passed; back += 1) this.#counts[(minute - back) % RECENT_MINUTES] = 0
    this.#minute = minute
    return minute % RECENT_MINUTES
  }
}
