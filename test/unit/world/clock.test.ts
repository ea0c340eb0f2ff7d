import { expect, test } from 'vitest'
import { createTestClock } from '../../world/clock.ts'

const hour = 3_600_000

test('advancing the test clock fires due timers in order, each at its own time', async () => {
  const clock = createTestClock()
  const start = clock.now()
  const fired: [string, number][] = []
  const note = (name: string) => () => fired.push([name, Math.round((clock.now() - start) / hour)])
  clock.after(3 * hour, note('three'))
  clock.after(hour, note('one'))
  clock.after(2 * hour, note('two'))
  clock.after(30 * 24 * hour, note('a month'))
  await clock.advance(2.5 * hour)
  expect(fired).toEqual([
    ['one', 1],
    ['two', 2],
  ])
  await clock.advance(hour)
  expect(fired.at(-1)).toEqual(['three', 3])
  await clock.advance(30 * 24 * hour)
  expect(fired.at(-1)).toEqual(['a month', 720])
})

test('timers set by timers fire during the same advance', async () => {
  const clock = createTestClock()
  let ticks = 0
  const tick = () => {
    ticks++
    clock.after(hour, tick)
  }
  clock.after(hour, tick)
  await clock.advance(10.5 * hour)
  expect(ticks).toBe(10)
})

test('promises of a timer run before the next timer fires', async () => {
  const clock = createTestClock()
  const order: string[] = []
  clock.after(1000, () => void Promise.resolve().then(() => order.push('first, later')))
  clock.after(2000, () => order.push('second'))
  await clock.advance(3000)
  expect(order).toEqual(['first, later', 'second'])
})

test('a canceled timer does not fire', async () => {
  const clock = createTestClock()
  let fired = false
  const cancel = clock.after(hour, () => (fired = true))
  cancel()
  await clock.advance(2 * hour)
  expect(fired).toBe(false)
})

test('the test clock also runs in real time', async () => {
  const clock = createTestClock()
  await clock.advance(hour)
  const start = clock.now()
  await new Promise<void>((resolve) => {
    clock.after(20, resolve)
    // The test clock's timers don't keep a process alive; this one does.
    setTimeout(() => undefined, 200)
  })
  expect(clock.now() - start).toBeGreaterThanOrEqual(20)
})

test('set runs timers when it jumps forward, and not when it jumps back', async () => {
  const clock = createTestClock()
  let fired = 0
  clock.after(hour, () => fired++)
  await clock.set(Date.UTC(2020, 0, 1))
  expect(new Date(clock.now()).getUTCFullYear()).toBe(2020)
  expect(fired).toBe(0)
  await clock.set(Date.UTC(2100, 0, 1))
  expect(new Date(clock.now()).getUTCFullYear()).toBe(2100)
  expect(fired).toBe(1)
})

test('two concurrent advances of the test clock add up', async () => {
  const clock = createTestClock()
  const start = clock.now()
  await Promise.all([clock.advance(hour), clock.advance(hour)])
  expect(clock.now() - start).toBeGreaterThanOrEqual(2 * hour)
})
