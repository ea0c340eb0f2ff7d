import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { TestClock } from '../clock.ts'
import { Timers, type SharedTime } from './time.ts'
import type { Work } from './work.ts'

/** The daemon's clock in a simulation. It passes by itself, and is moved on when nothing happens any more. */
export interface SimulationClock extends TestClock {
  readonly time: SharedTime
  /** When the next timer of the daemon is due; Infinity when it has none. */
  readonly nextDue: number
  /** Timers of the daemon that came due so far. */
  readonly fired: number
}

export interface SimulationClockOptions {
  /** Told after each move, so that the receivers look at their own timers. */
  onMove: () => void
}

/** Makes the clock of a simulation. It never goes back. */
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
  /** Resolves when the receivers have read what had arrived before. */
  receiversReady: () => Promise<void>
  /** Timers this close together come due together, in milliseconds: as on a machine that is a little slow. */
  grain: number
}

/** Looks without any event before the clock is moved: when nobody has work; when somebody has who may be waiting for the clock. */
const LOOKS = 2
const LOOKS_WITH_WORK = 40

/** Moves the clock on over times in which nothing happens. */
export class Driver {
  readonly #options: DriverOptions
  /** How often it was moved. */
  moves = 0

  constructor(options: DriverOptions) {
    this.#options = options
  }

  /**
   * Runs until `done`, which is asked whenever nothing happens.
   * @param patience real milliseconds after which it gives up and rejects
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
   * Resolves when nothing happens. A machine that is short of time must not look like one that is at rest: a delivery in flight whose
   * receiver is not the one who waits is being worked on, or waits for one of the daemon's own timers.
   */
  async #quiet(): Promise<void> {
    const { clock, work, receiversReady } = this.#options
    let before = -1
    for (let still = 0, looks = LOOKS; still < looks;) {
      await receiversReady()
      await new Promise((resolve) => setImmediate(resolve))
      const atWork = work.calls > 0 || work.deliveries > clock.time.patient
      looks = atWork ? LOOKS_WITH_WORK : LOOKS
      // Only a delivery in flight can be with the pool.
      if (atWork) await Promise.all([threadPool(), sleep(1)])
      const events = clock.fired + clock.time.events + work.done
      still = events === before ? still + 1 : 0
      before = events
    }
  }
}

/** Resolves when each thread of the pool, which signs, has had a turn. */
async function threadPool(): Promise<void> {
  await Promise.all(Array.from({ length: 4 }, () => promisify(randomBytes)(1)))
}
