/**
 * Counts the messages that a lane started in each of the last minutes. Kept in memory only, so the counts start at
 * zero.
 */

/** Number of minutes to remember. */
export const RECENT_MINUTES = 60
const MINUTE = 60_000

/** The current activity of a lane in a running daemon. */
export interface LaneActivity {
  /** Number of messages in flight. */
  inFlight: number
  /** Number of messages started in about the last 60 seconds (counted in whole minutes). */
  lastMinute: number
  /** Number of messages started in each of the last 60 clock minutes, oldest first. */
  minutes: number[]
}

/** The counts of one lane, in a fixed 240 bytes. Times in Unix milliseconds. */
export class RecentMessages {
  readonly #counts = new Uint32Array(RECENT_MINUTES)
  /** The minute that was counted last. */
  #minute = 0

  /** Counts a message. */
  count(now: number): void {
    const at = this.#turn(now)
    this.#counts[at] = this.#counts[at]! + 1
  }

  /** Returns the counts by minute, oldest first; the last minute is incomplete. */
  minutes(now: number): number[] {
    const newest = this.#turn(now)
    return Array.from({ length: RECENT_MINUTES }, (_, at) => {
      return this.#counts[(newest + 1 + at) % RECENT_MINUTES]!
    })
  }

  /** Estimates the number of messages in the last 60 seconds, assuming an even rate in the previous minute. */
  lastMinute(now: number): number {
    const minutes = this.minutes(now)
    const [before, current] = [minutes.at(-2)!, minutes.at(-1)!]
    return Math.round(current + before * (1 - (now % MINUTE) / MINUTE))
  }

  /**
   * Clears the minutes since the last call; returns the index of the current one. Ignores times before the last call.
   */
  #turn(now: number): number {
    const minute = Math.max(this.#minute, Math.floor(now / MINUTE))
    const passed = Math.min(minute - this.#minute, RECENT_MINUTES)
    for (let back = 0; back < passed; back += 1) this.#counts[(minute - back) % RECENT_MINUTES] = 0
    this.#minute = minute
    return minute % RECENT_MINUTES
  }
}
