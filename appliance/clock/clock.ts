/** The interface to time. Every module that reads the clock or waits takes one, so that tests can control the time. */
export interface Clock {
  /** Unix time in milliseconds. */
  now(): number
  /** Calls `callback` once, `ms` from now; the returned function cancels it. Doesn't keep the process alive. */
  after(ms: number, callback: () => void): () => void
  /** Like `now`, but never jumps: for measuring timeouts. When absent, `now` doesn't jump either. */
  steady?: () => number
}

/**
 * Returns the time to measure timeouts by, so that conversations with other servers don't end when the clock is set.
 */
export const getSteadyTime = (clock: Clock): number => clock.steady?.() ?? clock.now()

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  steady: () => performance.timeOrigin + performance.now(),
  after(ms, callback) {
    // setTimeout overflows at 2^31-1 ms (24.8 days). Wake early; the caller checks the clock again.
    const timer = setTimeout(callback, Math.min(Math.max(0, ms), 2_147_483_647))
    timer.unref()
    return () => clearTimeout(timer)
  },
}
