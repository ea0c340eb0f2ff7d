import { expect, test } from 'vitest'
import { createDiscards } from '../../../appliance/capacity/discards.ts'
import { createTestClock } from '../../world/clock.ts'

const MB = 1024 * 1024

test('the rest of refused requests is read at once up to a limit, then slowly, and at once again after a while', async () => {
  const clock = createTestClock()
  const discards = createDiscards(clock)
  expect(discards.take(64 * MB)).toBeUndefined()
  let read = 0
  for (let count = 0; count < 4; count++) void discards.take(16 * MB)!.then(() => read++)
  await clock.advance(1024)
  expect(read).toBe(1)
  await clock.advance(3 * 1024)
  expect(read).toBe(4)
  await clock.advance(60_000)
  expect(discards.take(64 * MB)).toBeUndefined()
})
