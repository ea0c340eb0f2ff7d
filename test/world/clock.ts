import type { Clock } from '../../appliance/clock/clock.ts'

/** Real time plus an offset that the test moves. */
export interface TestClock extends Clock {
  /** Moves time forward by `ms`, stopping at each timer that becomes due on the way and letting its work begin. */
  advance(ms: number): Promise<void>
  /** Moves time to a Unix instant in milliseconds. Backwards, no timer fires and those that wait have longer to wait. */
  set(instant: number): Promise<void>
}

interface Timer {
  due: number
  callback: () => void
  real: NodeJS.Timeout | undefined
}

/**
 * Makes a clock that runs by itself, so that sockets and timers behave as always, and that can be moved, so that a
 * retry after a day is tested in a moment.
 */
export function createTestClock(): TestClock {
  let offset = 0
  let moves = Promise.resolve()
  const timers = new Set<Timer>()
  const now = () => Date.now() + offset

  const fire = (timer: Timer) => {
    clearTimeout(timer.real)
    if (timers.delete(timer)) timer.callback()
  }
  const schedule = (timer: Timer) => {
    clearTimeout(timer.real)
    // setTimeout rounds down below a millisecond and overflows after 24.8 days.
    const wait = Math.min(Math.max(0, timer.due - now()), 2_147_483_647)
    timer.real = setTimeout(() => (now() >= timer.due ? fire(timer) : schedule(timer)), wait)
    timer.real.unref()
  }
  const moveTo = async (instant: number) => {
    if (instant < now()) offset += instant - now()
    for (;;) {
      const next = earliest(timers)
      if (!next || next.due > instant) break
      offset += Math.max(0, next.due - now())
      fire(next)
      await breath()
    }
    // Real time went on meanwhile, and must not be taken back.
    offset += Math.max(0, instant - now())
    for (const timer of timers) schedule(timer)
    await breath()
  }
  // One move after the other: two at once would both measure from the same start.
  const queue = (move: () => Promise<void>) => (moves = moves.then(move))

  return {
    now,
    after(ms, callback) {
      const timer: Timer = { due: now() + Math.max(0, ms), callback, real: undefined }
      timers.add(timer)
      schedule(timer)
      return () => {
        clearTimeout(timer.real)
        timers.delete(timer)
      }
    },
    advance: (ms) => queue(() => moveTo(now() + ms)),
    set: (instant) => queue(() => moveTo(instant)),
  }
}

function earliest(timers: Set<Timer>): Timer | undefined {
  let first: Timer | undefined
  for (const timer of timers) if (!first || timer.due < first.due) first = timer
  return first
}

/** Lets what a timer started run until it waits for something outside, and set timers of its own. */
async function breath(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve))
}
