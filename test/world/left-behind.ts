import { afterAll, expect } from 'vitest'
import { getIdTime, newId } from '../../appliance/mail/ids.ts'

/** Globals that tests may replace: the clock, timers, fetch and random numbers. */
const REPLACEABLE = ['Date', 'fetch', 'queueMicrotask', 'setImmediate', 'setInterval', 'setTimeout'] as const

const state = () => ({
  environment: { ...process.env },
  directory: process.cwd(),
  umask: process.umask(),
  globals: REPLACEABLE.map((name) => globalThis[name] as unknown),
  now: Date.now,
  random: Math.random,
  unhandled: process.listeners('unhandledRejection'),
})

const before = state()

/** Fails a test file that leaves modified globals behind in a process shared with other files. */
afterAll(() => expect(state()).toEqual(before))

/** How far IDs may be in the future, in milliseconds. */
const MOST_AHEAD = 30_000

/**
 * Fails a test file that created IDs of the future: those of the files after it would follow. Waits until IDs are of the
 * present again if that is soon.
 */
afterAll(async () => {
  const ahead = () => getIdTime(newId(0)) - Date.now()
  expect(ahead()).toBeLessThan(MOST_AHEAD)
  while (ahead() > 0) await new Promise((resolve) => setTimeout(resolve, ahead()))
})
