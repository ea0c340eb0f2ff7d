import { afterEach, expect, test } from 'vitest'
import { createThreads, type Threads } from '../../../appliance/capacity/capacity.ts'
import { systemClock as clock } from '../../../appliance/clock/clock.ts'

/** A thread that increments a counter, waits briefly, and returns the maximum number of concurrent threads. */
const SCRIPT = `
import { parentPort } from 'node:worker_threads'
parentPort.on('message', (shared) => {
  const counts = new Int32Array(shared)
  const inside = Atomics.add(counts, 0, 1) + 1
  if (inside > Atomics.load(counts, 1)) Atomics.store(counts, 1, inside)
  Atomics.wait(counts, 2, 0, 100)
  Atomics.sub(counts, 0, 1)
  parentPort.postMessage({ result: null })
})`

let threads: Threads<SharedArrayBuffer, null> | undefined
afterEach(() => threads?.close())

async function most(heavy: boolean): Promise<number> {
  const script = new URL(`data:text/javascript,${encodeURIComponent(SCRIPT)}`)
  threads = createThreads({ script, clock, most: 3, waiting: 10, deadlineMs: 60_000, heapMb: 64 })
  const shared = new SharedArrayBuffer(12)
  const teams = ['one', 'two', 'three', 'one', 'two', 'three']
  await Promise.all(teams.map((team) => threads!.run(shared, team, { heavy })))
  return new Int32Array(shared)[1]!
}

test('heavy jobs run one at a time across all teams', async () => {
  expect(await most(true)).toBe(1)
})

test('a heavy job and another job both finish', async () => {
  expect(await most(false)).toBeLessThanOrEqual(3)
  const shared = new SharedArrayBuffer(12)
  const jobs = [threads!.run(shared, 'one', { heavy: true }), threads!.run(shared, 'two')]
  expect(await Promise.all(jobs)).toEqual([null, null])
})

const program = (text: string): URL => new URL(`data:text/javascript,${encodeURIComponent(text)}`)

test('a job whose thread dies is rejected as overloaded, and the next job gets a new thread', async () => {
  const script = program(`
import { parentPort } from 'node:worker_threads'
parentPort.on('message', (shared) => {
  if (Atomics.add(new Int32Array(shared), 0, 1) === 0) process.exit(1)
  parentPort.postMessage({ result: null })
})`)
  threads = createThreads({ script, clock, most: 1, waiting: 10, deadlineMs: 60_000, heapMb: 64 })
  const shared = new SharedArrayBuffer(4)
  await expect(threads.run(shared, 'one')).rejects.toMatchObject({ key: 'overloaded', status: 503 })
  expect(await threads.run(shared, 'one')).toBeNull()
})

test('each job is rejected with the reason if the thread cannot start', async () => {
  const script = new URL('https://example.com/worker.js')
  threads = createThreads({ script, clock, most: 1, waiting: 10, deadlineMs: 60_000, heapMb: 64 })
  const shared = new SharedArrayBuffer(4)
  await expect(threads.run(shared, 'one')).rejects.toThrow(/must be of scheme file/)
  await expect(threads.run(shared, 'one')).rejects.toThrow(/must be of scheme file/)
})

test("a job that exceeds the thread's memory is rejected with that reason", async () => {
  const script = program(`
import { parentPort } from 'node:worker_threads'
parentPort.on('message', () => {
  const kept = []
  for (;;) kept.push(Array.from({ length: 1000 }, (_, at) => ({ at })))
})`)
  threads = createThreads({ script, clock, most: 1, waiting: 10, deadlineMs: 60_000, heapMb: 16 })
  await expect(threads.run(new SharedArrayBuffer(4), 'one')).rejects.toMatchObject({ why: 'memory' })
})
