import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createTurnThrottle } from '../../../appliance/capacity/loop-bytes.ts'

const KB = 1024

test('a team over its share of a turn waits for the next turn, without delaying others', async () => {
  const shifts = createTurnThrottle()
  const begun: string[] = []
  const take = (team: string | null, name: string): void => {
    const waited = shifts.take(team, 40 * KB)
    if (waited) void waited.then(() => begun.push(name))
    else begun.push(name)
  }
  for (const name of ['a1', 'a2', 'a3', 'a4', 'a5']) take('a', name)
  take('b', 'b1')
  take(null, 'stranger')
  expect(begun.splice(0)).toEqual(['a1', 'a2', 'b1', 'stranger'])
  await turn()
  expect(begun.splice(0)).toEqual(['a3', 'a4'])
  take('a', 'a6')
  take('b', 'b2')
  expect(begun.splice(0)).toEqual(['b2'])
  await turn()
  expect(begun.splice(0)).toEqual(['a5', 'a6'])
  await turn()
  await turn()
  take('a', 'a7')
  expect(begun).toEqual(['a7'])
})
