import type { Clock } from '../../appliance/clock/clock.ts'

/** Real time plus an offset that the test can change. */
export interface TestClock extends Clock {
  /** Advances time by `ms`. Stops at each timer that becomes due on the way, so that its work can start. */
  advance(ms: number): Promise<void>
  /** Sets time to a Unix instant in milliseconds. Going backwards fires no timers; pending timers then wait longer. */
  set(instant: number): Promise<void>
}

interface Timer {
  due: number
  callback: () => void
  real: NodeJS.Timeout | undefined
}

/**
 * Creates a clock that runs in real time, so that sockets and timers work as usual, but that tests can advance. A retry
 * that is due in a day can then be tested at once.
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
    // Real time passed in the meantime and must not be undone.
    offset += Math.max(0, instant - now())
    for (const timer of timers) schedule(timer)
    await breath()
  }
  // Moves run one after the other. Two concurrent moves would both start from the same instant.
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

/** Lets the work that a timer started run until it waits for I/O, including setting timers of its own. */
async function breath(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve))
}
