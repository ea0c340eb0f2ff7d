import { expect, test } from 'vitest'
import { runAllSteps, type LeasedDelivery, type Storage } from '../../appliance/storage/storage.ts'
import {
  change,
  DAY,
  leaseArgs,
  makeTeam,
  MINUTE,
  newEmail,
  putArgs,
  putEmail,
  T0,
  unique,
  summaryOf,
} from './fixtures.ts'

const where = ({ recipient, pool, provider, stream }: LeasedDelivery) => [recipient, pool, provider, stream]

const providers = async (storage: Storage, domain: string) =>
  (await storage.listQueue({ domain, limit: 100 }, T0)).items.map(({ provider }) => provider)

/** Tests of where deliveries are queued: by their domain's provider, and by their email's pool and stream. */
export function placeContract(storage: () => Storage): void {
  test('an email is queued in its own pool and stream, with the domain’s provider unknown', async () => {
    const { team } = await makeTeam(storage())
    const domain = `${unique('new')}.example`
    await putEmail(storage(), team.id, [`a@${domain}`], T0, { pool: 'slow', stream: 'broadcast' })
    const [leased] = await storage().lease(leaseArgs({ room: { [`slow/?${domain}`]: 1 }, roomElse: 0 }), T0)
    expect(where(leased!)).toEqual([`a@${domain}`, 'slow', `?${domain}`, 'broadcast'])
  })

  test('later emails use the provider last assigned to the domain, in any case', async () => {
    const { team } = await makeTeam(storage())
    const domain = `${unique('known')}.example`
    expect(await storage().place({ domain, provider: 'google' }, T0)).toEqual({ count: 0, next: null })
    await storage().place({ domain, provider: 'yahoo' }, T0)
    await putEmail(storage(), team.id, [`a@${domain.toUpperCase()}`], T0)
    expect(await providers(storage(), domain)).toEqual(['yahoo'])
    const room = { 'default/yahoo': 1 }
    expect(await storage().lease(leaseArgs({ room, roomElse: 0 }), T0)).toHaveLength(1)
  })

  test('assigning a provider moves queued, in-flight and held deliveries of that domain only', async () => {
    const { team } = await makeTeam(storage())
    const domain = `${unique('moving')}.example`
    const emails = []
    for (const user of ['a', 'b', 'c'])
      emails.push(await putEmail(storage(), team.id, [`${user}@${domain}`], T0, { stream: 'broadcast' }))
    await putEmail(storage(), team.id, [`a@sub.${domain}`], T0)
    const [inFlight] = await storage().lease(
      leaseArgs({ limit: 1, room: { [`default/?${domain}`]: 1 }, roomElse: 0 }),
      T0,
    )
    await storage().holdQueue({ emailId: emails[1]!.id }, T0)
    expect(await storage().place({ domain, provider: 'hosting.example' }, T0)).toEqual({
      count: 3,
      next: null,
    })
    expect(await storage().place({ domain, provider: 'hosting.example' }, T0)).toEqual({
      count: 0,
      next: null,
    })
    expect(await providers(storage(), domain)).toEqual(Array(3).fill('hosting.example'))
    expect(await providers(storage(), `sub.${domain}`)).toEqual([`?sub.${domain}`])
    const room = { 'default/hosting.example': 9 }
    const leased = await storage().lease(leaseArgs({ room, roomElse: 0 }), T0)
    expect(leased.map(where)).toEqual([[`c@${domain}`, 'default', 'hosting.example', 'broadcast']])
    const changes = [change(inFlight!.id, 'delivered')]
    expect(await storage().settle({ owner: 'one', attempt: null, changes }, T0)).toEqual({ lost: [] })
    const { deliveries } = await storage().getHistory({ teamId: team.id, id: inFlight!.emailId }, T0)
    expect(deliveries).toMatchObject([{ state: 'delivered', provider: 'hosting.example', pool: 'default' }])
  })

  test('assigns a provider to many deliveries in steps, leaving the rest unchanged until their step', async () => {
    const { team } = await makeTeam(storage())
    const domain = `${unique('many')}.example`
    await putEmail(
      storage(),
      team.id,
      Array.from({ length: 25 }, (_, i) => `u${i}@${domain}`),
      T0,
    )
    const args = { domain, provider: 'google', limit: 10 }
    const first = await storage().place(args, T0)
    expect(first).toEqual({ count: 10, next: expect.any(String) as string })
    const counted = Object.entries(Object.groupBy(await providers(storage(), domain), (one) => one))
    expect(counted.map(([provider, all]) => [provider, all!.length])).toEqual([
      ['google', 10],
      [`?${domain}`, 15],
    ])
    expect(await runAllSteps((after) => storage().place({ ...args, after }, T0))).toBe(15)
    expect(new Set(await providers(storage(), domain))).toEqual(new Set(['google']))
  })

  test('dropped deliveries keep their provider', async () => {
    const { team } = await makeTeam(storage())
    const domain = `${unique('dropped')}.example`
    const { id } = await putEmail(storage(), team.id, [`a@${domain}`], T0)
    await storage().place({ domain, provider: 'google' }, T0)
    await storage().dropQueue({ domain }, T0)
    const { deliveries } = await storage().getHistory({ teamId: team.id, id }, T0)
    expect(deliveries).toMatchObject([{ state: 'failed', provider: 'google' }])
  })

  test('an unleased delivery can be delayed', async () => {
    const { team } = await makeTeam(storage())
    const email = newEmail(team.id, [`a@${unique('busy')}.example`])
    await storage().put(putArgs(email), T0)
    const [leased] = await storage().lease(leaseArgs(), T0)
    await storage().unlease({ owner: 'one', deliveryIds: [leased!.id], dueAt: T0 + MINUTE }, T0)
    expect(await storage().lease(leaseArgs(), T0 + MINUTE - 1)).toEqual([])
    expect(await storage().lease(leaseArgs(), T0 + MINUTE)).toMatchObject([{ id: leased!.id, attempts: 1 }])
  })

  test('queue changes run in steps that scan a limited number of deliveries, matching or not', async () => {
    const { team } = await makeTeam(storage())
    const other = await makeTeam(storage())
    for (let i = 0; i < 4; i++) {
      await putEmail(storage(), team.id, [`u${i}@x.example`], T0)
      await putEmail(storage(), other.team.id, [`u${i}@x.example`], T0)
    }
    const filter = { teamId: team.id, limit: 3 }
    for (const method of ['holdQueue', 'releaseQueue', 'retryQueue', 'dropQueue'] as const) {
      const steps: number[] = []
      const count = await runAllSteps(async (after) => {
        const step = await storage()[method]({ ...filter, after }, T0 + DAY)
        steps.push(step.count)
        return step
      })
      expect([method, count, steps.length]).toEqual([method, 4, 3])
      expect(Math.max(...steps)).toBeLessThanOrEqual(2)
    }
    expect(await summaryOf(storage(), { teamId: other.team.id }, T0)).toMatchObject({ waiting: 4 })
  })
}
