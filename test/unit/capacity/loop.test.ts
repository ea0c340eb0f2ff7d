import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createLoopQueue, createLoopLimiter } from '../../../appliance/capacity/capacity.ts'

test('starts queued jobs in later turns of the event loop, a limited number per turn, heavy ones alone', async () => {
  const line = createLoopQueue(3)
  const begun: string[] = []
  const add = (name: string, weight?: number): void => line(() => begun.push(name), weight)
  for (const name of ['a', 'b', 'c', 'd']) add(name)
  add('heavy', 8)
  add('e')
  expect(begun).toEqual([])
  await turn()
  expect(begun.splice(0)).toEqual(['a', 'b', 'c'])
  await turn()
  expect(begun.splice(0)).toEqual(['d'])
  await turn()
  expect(begun.splice(0)).toEqual(['heavy'])
  await turn()
  expect(begun).toEqual(['e'])
})

test('starts the first jobs of a turn at once and the others in the next turns, in order', async () => {
  const share = createLoopLimiter(2)
  const begun: string[] = []
  const add = (name: string): void => share(() => begun.push(name))
  for (const name of ['a', 'b', 'c', 'd', 'e']) add(name)
  expect(begun.splice(0)).toEqual(['a', 'b'])
  await turn()
  expect(begun.splice(0)).toEqual(['c', 'd'])
  add('f')
  expect(begun.splice(0)).toEqual([])
  await turn()
  expect(begun.splice(0)).toEqual(['e', 'f'])
  await turn()
  await turn()
  add('g')
  expect(begun).toEqual(['g'])
})
