import { afterAll, expect } from 'vitest'

/** Globals that tests replace: the clock, its timers, requests, chance. */
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

/** Fails a file that shares its process with others and leaves the process changed for them. */
afterAll(() => expect(state()).toEqual(before))
