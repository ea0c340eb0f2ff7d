/** The port of time: everything that reads the clock or waits takes one of these, so that tests can move it. */
export interface Clock {
  /** Unix time in milliseconds. */
  now(): number
  /** Calls `callback` once, `ms` from now; the returned function takes it back. Does not keep the process alive. */
  after(ms: number, callback: () => void): () => void
  /** Like `now`, but never jumps: for deadlines of what goes on. Absent: `now` does not jump either. */
  steady?: () => number
}

/** The time that deadlines are measured by: when somebody sets the clock, conversations with other servers do not end for it. */
export const steady = (clock: Clock): number => clock.steady?.() ?? clock.now()

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  steady: () => performance.timeOrigin + performance.now(),
  after(ms, callback) {
    // setTimeout overflows beyond 2^31-1 ms (24.8 days): wake early, the caller looks at the clock again.
    const timer = setTimeout(callback, Math.min(Math.max(0, ms), 2_147_483_647))
    timer.unref()
    return () => clearTimeout(timer)
  },
}
