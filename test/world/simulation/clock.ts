import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { TestClock } from '../clock.ts'
import { Timers, type SharedTime } from './time.ts'
import type { Work } from './work.ts'

/** The daemon's clock in a simulation. It runs in real time and skips ahead when nothing is happening. */
export interface SimulationClock extends TestClock {
  readonly time: SharedTime
  /** When the daemon's next timer is due; Infinity if it has none. */
  readonly nextDue: number
  /** Number of the daemon's timers that have fired. */
  readonly fired: number
}

export interface SimulationClockOptions {
  /** Called after each skip, so that the receivers check their own timers. */
  onMove: () => void
}

/** Creates a simulation's clock. It never goes backwards. */
export function createSimulationClock(time: SharedTime, { onMove }: SimulationClockOptions): SimulationClock {
  const timers = new Timers(() => time.now())
  const set = async (instant: number): Promise<void> => {
    time.skip(instant - time.now())
    timers.fire()
    onMove()
  }
  return {
    time,
    now: () => time.now(),
    after: (ms, callback) => timers.after(ms, callback),
    get nextDue() {
      return timers.nextDue
    },
    get fired() {
      return timers.fired
    },
    set,
    advance: (ms) => set(time.now() + ms),
  }
}

export interface DriverOptions {
  clock: SimulationClock
  work: Work
  /** Resolves when the receivers have read all data that had already arrived. */
  receiversReady: () => Promise<void>
  /** Timers that are due within this many milliseconds of each other fire together, as on a slightly slow machine. */
  grain: number
}

/**
 * How many checks without an event are needed before the clock skips: when there is no work in progress, and when the
 * work may be waiting for the clock.
 */
const LOOKS = 2
const LOOKS_WITH_WORK = 40

/** Skips the clock over periods in which nothing happens. */
export class Driver {
  readonly #options: DriverOptions
  /** Number of skips. */
  moves = 0

  constructor(options: DriverOptions) {
    this.#options = options
  }

  /**
   * Runs until `done` returns true. It is called whenever nothing is happening.
   * @param patience real milliseconds after which it rejects
   */
  async run(done: () => Promise<boolean> | boolean, patience: number): Promise<void> {
    const { clock, grain } = this.#options
    const end = Date.now() + patience
    for (;;) {
      await this.#quiet()
      if (await done()) return
      if (Date.now() > end) throw new Error(`the simulation did not end in ${patience} ms`)
      const next = Math.min(clock.nextDue, clock.time.receiversDue)
      if (next === Infinity) throw new Error('the simulation stands still: nobody waits for anything')
      this.moves++
      await clock.set(next + grain)
    }
  }

  /**
   * Resolves when nothing is happening. A slow machine must not be mistaken for an idle one: if a delivery is in flight
   * and its receiver isn't the one waiting, the delivery is being processed or waits for one of the daemon's timers.
   */
  async #quiet(): Promise<void> {
    const { clock, work, receiversReady } = this.#options
    let before = -1
    for (let still = 0, looks = LOOKS; still < looks;) {
      await receiversReady()
      await new Promise((resolve) => setImmediate(resolve))
      const atWork = work.calls > 0 || work.deliveries > clock.time.patient
      looks = atWork ? LOOKS_WITH_WORK : LOOKS
      // Only deliveries in flight use the thread pool.
      if (atWork) await Promise.all([threadPool(), sleep(1)])
      const events = clock.fired + clock.time.events + work.done
      still = events === before ? still + 1 : 0
      before = events
    }
  }
}

/** Resolves after each thread of the pool, which signs messages, has had a turn. */
async function threadPool(): Promise<void> {
  await Promise.all(Array.from({ length: 4 }, () => promisify(randomBytes)(1)))
}
