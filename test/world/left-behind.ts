import { afterAll, expect } from 'vitest'
import { madeAt, newId } from '../../appliance/mail/ids.ts'

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

/** Fails a test file that created IDs of the future, which those of the files after it would follow. */
afterAll(() => expect(madeAt(newId(0))).toBeLessThanOrEqual(Date.now()))
