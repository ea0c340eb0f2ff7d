import { randomBytes } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { systemClock as clock } from '../../../appliance/clock/clock.ts'
import { testCapacity } from '../../world/capacity.ts'

const MB = 1024 * 1024

test('writes large responses completely, with at most 2 MB per turn of the event loop', async () => {
  const { outgoing } = testCapacity(clock, '/nowhere')
  const whole = randomBytes(MB + 1)
  let [now, most] = [0, 0]
  const answers = Array.from({ length: 40 }, () => {
    const answer = outgoing.pieces(whole)
    answer.on('data', (piece: Buffer) => {
      if (now === 0) setImmediate(() => (now = 0))
      now += piece.length
      most = Math.max(most, now)
    })
    return buffer(answer)
  })
  for (const answer of await Promise.all(answers)) expect(answer.equals(whole)).toBe(true)
  expect(most).toBeLessThanOrEqual(2 * MB)
})
