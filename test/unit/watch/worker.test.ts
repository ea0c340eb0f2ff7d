import { expect, test } from 'vitest'
import { createSilentLogger } from '../../../appliance/watch/log.ts'
import { createWorker } from '../../../appliance/watch/worker.ts'
import { createTestClock } from '../../world/clock.ts'

/** Starts a worker that counts its steps and asks `next` for its pause. */
function begin(next: () => Promise<number | undefined>, step?: () => Promise<boolean>) {
  const clock = createTestClock()
  let steps = 0
  const worker = createWorker({
    step: async () => {
      steps += 1
      return (await step?.()) ?? false
    },
    next,
    clock,
    log: createSilentLogger(),
    pollMs: 60_000,
    troubleMs: 1000,
    trouble: 'trouble',
  })
  worker.start()
  return { clock, worker, steps: () => steps }
}

test('work announced during the lookup of the next due time is done at once', async () => {
  const asked = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<undefined>()
  const { worker, steps } = begin(() => (asked.resolve(), answer.promise))
  await asked.promise
  worker.wake()
  answer.resolve(undefined)
  await expect.poll(steps).toBe(2)
  await worker.stop()
})

test('the next step runs when due, and after a failure no sooner than the poll interval', async () => {
  let due = 0
  const { clock, worker, steps } = begin(
    async () => (steps() < 2 ? due : undefined),
    async () => {
      if (steps() === 2) throw new Error('no')
      return false
    },
  )
  const later = async () => {
    await clock.advance(1000)
    return steps()
  }
  due = clock.now() + 5000
  await expect.poll(steps).toBe(1)
  await expect.poll(later, { interval: 1 }).toBe(2)
  expect(clock.now()).toBeGreaterThanOrEqual(due)
  const failed = clock.now()
  await expect.poll(later, { interval: 1 }).toBe(3)
  // The clock moves by a second at a time.
  expect(clock.now() - failed).toBeGreaterThanOrEqual(59_000)
  await worker.stop()
})
