import { expect, test } from 'vitest'
import type { Storage } from '../../appliance/storage/storage.ts'
import { MINUTE, T0, unique } from './fixtures.ts'

/** Tests of duties: work that runs once, however many nodes share the storage. */
export function dutiesContract(storage: () => Storage): void {
  const forMs = 1000
  const lostAfter = 10 * MINUTE
  const take = (name: string, owner: string, now: number, more: { lostAfter?: number } = {}) =>
    storage().takeDuty({ name, owner, forMs, lostAfter, ...more }, now)

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

  test('the duty of a node that is lost or stopped can be taken at once, with a higher term', async () => {
    const [name, gone, similar] = [unique('duty'), unique('node'), unique('node')]
    for (const id of [gone, similar]) await storage().joinNode({ id, run: '1', name: id, facts: '{}' }, T0)
    expect(await take(name, `${gone}/1`, T0)).toBe(1)
    expect(await take(name, 'here/1', T0)).toBeNull()
    expect(await take(name, 'here/1', T0, { lostAfter: 0 })).toBe(2)
    // A node without a row, such as a command, is judged only by the time of its duty.
    expect(await take(name, `${gone}/1`, T0, { lostAfter: 0 })).toBeNull()
    const other = unique('duty')
    expect(await take(other, `${gone}/1`, T0)).toBe(1)
    await storage().stopNode({ id: similar, run: '1' }, T0)
    expect(await take(other, 'here/1', T0)).toBeNull()
    await storage().stopNode({ id: gone, run: '1' }, T0)
    expect(await take(other, 'here/1', T0)).toBe(2)
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
