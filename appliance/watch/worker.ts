/** A task that runs periodically, and earlier if it is woken. */
import { setTimeout as rest } from 'node:timers/promises'
import type { Clock } from '../clock/clock.ts'
import type { Logger } from './log.ts'

export interface Worker {
  start(): void
  /** Requests a run soon, because there may be work. */
  wake(): void
  /** Stops after the current step. */
  stop(): Promise<void>
}

/** Default pause after a failed step, in milliseconds. */
const TROUBLE_MS = 5000

export interface WorkerDeps {
  /**
   * Does a part of the work. Returns true if there is more work, and is then called again. A long step calls `going`
   * between its parts, and ends when that returns false.
   */
  step: (going: () => boolean) => Promise<boolean>
  clock: Clock
  log: Logger
  /** How often to run without being woken, in milliseconds. */
  pollMs: number
  /**
   * Called after each run. Returns when the next work is due that nobody calls `wake` for (Unix milliseconds);
   * undefined if there is none.
   */
  next?: () => Promise<number | undefined>
  /**
   * Pause between runs in real milliseconds; none by default. Work that arrives during the pause is handled together,
   * which saves CPU time.
   */
  restMs?: number
  /** Minimum pause after a failed step, in milliseconds. */
  troubleMs?: number
  /** The log message for a failed step. */
  trouble: string
}

/** Runs steps one at a time. */
export function createWorker(deps: WorkerDeps): Worker {
  const { step, next, clock, log, pollMs, restMs = 0, troubleMs = TROUBLE_MS, trouble } = deps
  let stopped = true
  let again = false
  let looking: Promise<void> | undefined
  let cancelTimer = (): void => undefined

  const going = (): boolean => !stopped
  const all = async (): Promise<void> => {
    do {
      again = false
      while (going() && (await step(going)));
      if (restMs > 0) await rest(restMs)
    } while (again && !stopped)
  }
  const look = async (): Promise<void> => {
    let pause = pollMs
    try {
      let due: number | undefined
      do {
        await all()
        due = await next?.()
      } while (again && going())
      if (due !== undefined) pause = Math.min(pollMs, Math.max(0, due - clock.now()))
    } catch (error) {
      pause = Math.max(pollMs, troubleMs)
      log.error({ err: error }, trouble)
    }
    looking = undefined
    cancelTimer()
    if (!stopped) cancelTimer = clock.after(pause, wake)
  }
  const wake = (): void => {
    if (stopped) return
    again = true
    looking ??= look()
  }
  return {
    start() {
      stopped = false
      wake()
    },
    wake,
    async stop() {
      stopped = true
      cancelTimer()
      await looking
    },
  }
}
