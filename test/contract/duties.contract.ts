import { expect, test } from 'vitest'
import type { Storage } from '../../appliance/storage/storage.ts'
import { T0, unique } from './fixtures.ts'

/** Tests of duties: work that runs once, however many nodes share the storage. */
export function dutiesContract(storage: () => Storage): void {
  const forMs = 1000
  const take = (name: string, owner: string, now: number) => storage().takeDuty({ name, owner, forMs }, now)

  test('a node holds a duty until it expires, and each change of owner begins a new term', async () => {
    const name = unique('duty')
    expect(await take(name, 'here/1', T0)).toBe(1)
    expect(await take(name, 'there/1', T0 + 999)).toBeNull()
    expect(await take(name, 'here/1', T0 + 999)).toBe(1)
    expect(await take(name, 'there/1', T0 + 1998)).toBeNull()
    expect(await take(name, 'there/1', T0 + 1999)).toBe(2)
    expect(await take(name, 'here/1', T0 + 2000)).toBeNull()
  })

  test('only one of several nodes that ask at the same time gets the duty', async () => {
    const name = unique('duty')
    const terms = await Promise.all(['a/1', 'b/1', 'c/1'].map((owner) => take(name, owner, T0)))
    expect(terms.toSorted()).toEqual([1, null, null])
  })

  test('the next run of a node takes over its duties at once, but a node with a similar name does not', async () => {
    const name = unique('duty')
    expect(await take(name, 'here/1', T0)).toBe(1)
    expect(await take(name, 'her/1', T0)).toBeNull()
    expect(await take(name, 'here2/1', T0)).toBeNull()
    expect(await take(name, 'here/2', T0)).toBe(2)
  })

  test('releasing the duties of an owner frees only those duties', async () => {
    const [one, two] = [unique('duty'), unique('duty')]
    await take(one, 'here/1', T0)
    await take(two, 'there/1', T0)
    await storage().releaseDuties({ owner: 'here/1' }, T0)
    expect(await take(one, 'there/1', T0)).toBe(2)
    expect(await take(two, 'here/1', T0)).toBeNull()
  })
}
