import type { Clock } from '../../appliance/clock/clock.ts'

/** A clock that starts some days in the past, runs in real time, and can leap forward. */
export interface JumpingClock extends Clock {
  /**
   * Leaps forward. Each pending timer that becomes due fires once, at the new time. Use it to create history, not to
   * test timers.
   */
  leap(ms: number): void
}

interface Timer {
  due: number
  callback: () => void
  real: NodeJS.Timeout | undefined
}

/** @param behind how far behind the system clock it starts, in milliseconds */
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
