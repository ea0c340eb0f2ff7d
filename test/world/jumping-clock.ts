import type { Clock } from '../../appliance/clock/clock.ts'

/** Real time, some days behind, that can be brought nearer in leaps. */
export interface JumpingClock extends Clock {
  /** Leaps forward. What was to happen meanwhile happens once, now: for making a past, not for testing what waits. */
  leap(ms: number): void
}

interface Timer {
  due: number
  callback: () => void
  real: NodeJS.Timeout | undefined
}

/** @param behind milliseconds by which it begins behind the machine's clock */
export function createJumpingClock(behind: number): JumpingClock {
  let offset = -behind
  const timers = new Set<Timer>()
  const now = () => Date.now() + offset

  const fire = (timer: Timer) => {
    clearTimeout(timer.real)
    if (timers.delete(timer)) timer.callback()
  }
  const schedule = (timer: Timer) => {
    clearTimeout(timer.real)
    // setTimeout overflows after 24.8 days.
    const wait = Math.min(Math.max(0, timer.due - now()), 2_147_483_647)
    timer.real = setTimeout(() => (now() >= timer.due ? fire(timer) : schedule(timer)), wait)
    timer.real.unref()
  }

  return {
    now,
    steady: () => performance.timeOrigin + performance.now(),
    after(ms, callback) {
      const timer: Timer = { due: now() + Math.max(0, ms), callback, real: undefined }
      timers.add(timer)
      schedule(timer)
      return () => {
        clearTimeout(timer.real)
        timers.delete(timer)
      }
    },
    leap(ms) {
      offset += ms
      for (const timer of [...timers].sort((a, b) => a.due - b.due))
        if (timer.due <= now()) fire(timer)
        else schedule(timer)
    },
  }
}
