import { expect, test } from 'vitest'
import { createDiscardThrottle } from '../../../appliance/capacity/discards.ts'
import { createTestClock } from '../../world/clock.ts'

const MB = 1024 * 1024

test('reads the rest of rejected requests at once up to a limit, then slowly until the limit recovers', async () => {
  const clock = createTestClock()
  const discards = createDiscardThrottle(clock)
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
