/** Something that is looked at from time to time, and sooner when told. */
import { setTimeout as rest } from 'node:timers/promises'
import type { Clock } from '../clock/clock.ts'
import type { Logger } from './log.ts'

export interface Worker {
  start(): void
  /** There may be something: look soon. */
  wake(): void
  /** Finishes the step in hand. */
  stop(): Promise<void>
}

/** Pause after a step failed, unless told (milliseconds). */
const TROUBLE_MS = 5000

export interface WorkerDeps {
  /** True: there is more, and it is called again. One that takes long asks `going` between its parts, and ends when it is to stop. */
  step: (going: () => boolean) => Promise<boolean>
  clock: Clock
  log: Logger
  /** How often to look without being told, in milliseconds. */
  pollMs: number
  /** When something will be due that nobody tells of (Unix milliseconds), asked after each look; undefined: nothing. */
  next?: () => Promise<number | undefined>
  /**
   * Real time between a look and the next (milliseconds), default none: what comes meanwhile is taken together. It spares the machine
   * and decides nothing.
   */
  restMs?: number
  /** Least pause after a step failed, in milliseconds. */
  troubleMs?: number
  /** What is said when a step fails. */
  trouble: string
}

/** Runs steps one after the other, never two at once. */
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
      await all()
      const due = await next?.()
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
