import { expect, test } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import type { Storage } from '../../appliance/storage/storage.ts'
import { DAY, leaseArgs, makeTeam, MINUTE, putEmail, T0 } from './fixtures.ts'

/** Tests of changing and canceling scheduled emails, and of the appliance's secrets. */
export function scheduledContract(storage: () => Storage): void {
  const schedule = async (recipients = ['a@example.net', 'b@example.org'], at = T0 + DAY) => {
    const { team } = await makeTeam(storage())
    const email = await putEmail(storage(), team.id, recipients, at, { scheduledAt: at })
    return { teamId: team.id, id: email.id }
  }
  const move = (email: { teamId: string; id: string }, scheduledAt: number) =>
    storage().reschedule({ ...email, scheduledAt, expiresAt: scheduledAt + 4 * DAY }, T0)
  const leasedAt = async (id: string, now: number) =>
    (await storage().lease(leaseArgs({ leaseUntil: now + MINUTE }), now)).filter(
      ({ emailId }) => emailId === id,
    )

  test('reschedules an email with all its deliveries, and leases it at its new time', async () => {
    const email = await schedule()
    expect(await move(email, T0 + 2 * DAY)).toEqual({ kind: 'changed' })
    const { deliveries, events } = await storage().getHistory(email, T0)
    expect(deliveries.map(({ dueAt, expiresAt }) => [dueAt, expiresAt])).toEqual([
      [T0 + 2 * DAY, T0 + 6 * DAY],
      [T0 + 2 * DAY, T0 + 6 * DAY],
    ])
    expect(events.map(({ type }) => type)).toEqual(['email.scheduled'])
    expect(await storage().getEmail(email, T0)).toMatchObject({
      lastEvent: 'scheduled',
      scheduledAt: T0 + 2 * DAY,
    })
    expect(await leasedAt(email.id, T0 + 2 * DAY - 1)).toEqual([])
    const leased = await leasedAt(email.id, T0 + 2 * DAY)
    expect(leased.map(({ scheduledAt }) => scheduledAt)).toEqual([T0 + 2 * DAY, T0 + 2 * DAY])
  })

  test('a canceled email is final: no delivery is queued, and it cannot change again', async () => {
    const email = await schedule()
    expect(await storage().cancel(email, T0 + MINUTE)).toEqual({ kind: 'changed' })
    const { deliveries, events } = await storage().getHistory(email, T0)
    for (const delivery of deliveries)
      expect(delivery).toMatchObject({
        state: 'canceled',
        attempts: 0,
        dueAt: null,
        expiresAt: null,
        updatedAt: T0 + MINUTE,
        cause: { phase: 'queue', note: 'canceled by its sender' },
      })
    expect(events.map(({ type }) => type)).toEqual(['email.scheduled'])
    expect(await leasedAt(email.id, T0 + 9 * DAY)).toEqual([])
    const refused = { kind: 'not_scheduled', lastEvent: 'canceled' }
    expect(await storage().cancel(email, T0)).toEqual(refused)
    expect(await move(email, T0 + 3 * DAY)).toEqual(refused)
  })

  test('cancels and reschedules held deliveries', async () => {
    const [one, two] = [await schedule(['a@example.net']), await schedule(['a@example.net'])]
    await storage().holdQueue({ emailId: one.id }, T0)
    await storage().holdQueue({ emailId: two.id }, T0)
    expect(await move(one, T0 + 2 * DAY)).toEqual({ kind: 'changed' })
    expect((await storage().getHistory(one, T0)).deliveries[0]).toMatchObject({ state: 'held' })
    expect(await storage().cancel(two, T0)).toEqual({ kind: 'changed' })
    expect((await storage().getHistory(two, T0)).deliveries[0]).toMatchObject({ state: 'canceled' })
  })

  test('a leased email can no longer be changed, even after its lease is released', async () => {
    const email = await schedule()
    const leased = await leasedAt(email.id, T0 + DAY)
    await storage().unlease({ owner: 'one', deliveryIds: leased.map(({ id }) => id) }, T0 + DAY)
    const refused = { kind: 'not_scheduled', lastEvent: 'queued' }
    expect(await storage().cancel(email, T0 + DAY)).toEqual(refused)
    expect(await move(email, T0 + 3 * DAY)).toEqual(refused)
    expect((await storage().getHistory(email, T0)).deliveries.map(({ state }) => state)).toEqual([
      'waiting',
      'waiting',
    ])
  })

  test('does not find or change an email of another team', async () => {
    const email = await schedule()
    const { team } = await makeTeam(storage())
    const foreign = { teamId: team.id, id: email.id }
    expect(await storage().cancel(foreign, T0)).toEqual({ kind: 'unknown' })
    expect(await move(foreign, T0 + 3 * DAY)).toEqual({ kind: 'unknown' })
    expect(await storage().cancel({ ...email, id: newId(T0) }, T0)).toEqual({ kind: 'unknown' })
    expect(await storage().getEmail(email, T0)).toMatchObject({ scheduledAt: T0 + DAY })
  })

  test('creates a secret once per name', async () => {
    const name = newId(T0)
    const [one, two] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)]
    const answers = await Promise.all([
      storage().secret({ name, fresh: one }, T0),
      storage().secret({ name, fresh: two }, T0),
    ])
    expect(answers).toEqual([one, one])
    expect(await storage().secret({ name: newId(T0), fresh: two }, T0)).toEqual(two)
  })

  test('named secrets are replaced, found, listed by folder and removed', async () => {
    const folder = newId(T0)
    const value = (byte: number) => new Uint8Array([byte])
    const find = (name: string) => storage().findSecret({ name: `${folder}/${name}` }, T0)
    const list = () => storage().listSecrets({ folder }, T0)
    const replace = (name: string, byte: number) => storage().replaceSecret({ name, value: value(byte) }, T0)
    await replace(`${folder}/b`, 1)
    await replace(`${folder}/b`, 2)
    await replace(`${folder}/a`, 3)
    // Names that only begin alike.
    await replace(`${folder}x/c`, 4)
    await replace(`${folder}0`, 5)
    expect(await find('b')).toEqual(value(2))
    expect(await find('none')).toBeUndefined()
    expect(await list()).toEqual([
      { name: `${folder}/a`, value: value(3) },
      { name: `${folder}/b`, value: value(2) },
    ])
    await storage().removeSecret({ name: `${folder}/a` }, T0)
    await storage().removeSecret({ name: `${folder}/a` }, T0)
    expect((await list()).map(({ name }) => name)).toEqual([`${folder}/b`])
  })
}
