import { expect, test } from 'vitest'
import { createQueuedCountCache } from '../../../appliance/broadcasts/load.ts'

/** A clock whose steady time the test sets, and a count that takes some milliseconds. */
function stage(tookMs: number) {
  let now = 0
  let counts = 0
  const clock = { now: () => now, steady: () => now, after: () => () => undefined }
  const storage = {
    broadcastLoad: () => {
      counts += 1
      now += tookMs
      return Promise.resolve<Record<string, number>>({ google: 10 })
    },
  }
  const loads = createQueuedCountCache({ storage, clock })
  return { loads, wait: (ms: number) => (now += ms), counts: () => counts }
}

test('a slow count is cached for fifty times its duration, and recipients queued since are added', async () => {
  const { loads, wait, counts } = stage(20)
  expect(await loads.of('news')).toEqual({ google: 10 })
  loads.add('news', ['google', 'google', ''])
  wait(999)
  expect(await loads.of('news')).toEqual({ google: 12, '': 1 })
  expect(counts()).toBe(1)
  wait(1)
  expect(await loads.of('news')).toEqual({ google: 10 })
  expect(counts()).toBe(2)
})

test('a count that takes no time is not cached', async () => {
  const { loads, counts } = stage(0)
  await loads.of('news')
  await loads.of('news')
  expect(counts()).toBe(2)
})

test('each broadcast is counted and cached separately', async () => {
  const { loads, counts } = stage(5)
  await loads.of('news')
  loads.add('offers', ['google'])
  expect(await loads.of('offers')).toEqual({ google: 10 })
  expect(await loads.of('news')).toEqual({ google: 10 })
  expect(counts()).toBe(2)
})
