import { expect, test } from 'vitest'
import type { NewEmail, Storage, Team } from '../../appliance/storage/storage.ts'
import { change, DAY, leaseArgs, makeTeam, MINUTE, putEmail, T0, summaryOf } from './fixtures.ts'

interface Filled {
  team: Team
  emails: NewEmail[]
}

/** Stores three emails of one team, accepted a minute apart: to x, to x and y, to z. */
async function fill(storage: Storage): Promise<Filled> {
  const { team } = await makeTeam(storage)
  const emails = [
    await putEmail(storage, team.id, ['a@x.example'], T0),
    await putEmail(storage, team.id, ['b@X.example', 'c@y.example'], T0 + MINUTE),
    await putEmail(storage, team.id, ['d@z.example'], T0 + 2 * MINUTE),
  ]
  return { team, emails }
}

const listed = async (storage: Storage, filter: Parameters<Storage['holdQueue']>[0] = {}) =>
  (await storage.listQueue({ ...filter, limit: 100 }, T0)).items.map(({ recipient, state }) => [
    recipient,
    state,
  ])

export function queueContract(storage: () => Storage): void {
  test('lists the queue oldest first, up to the limit', async () => {
    const { emails } = await fill(storage())
    expect(await listed(storage())).toEqual([
      ['a@x.example', 'waiting'],
      ['b@X.example', 'waiting'],
      ['c@y.example', 'waiting'],
      ['d@z.example', 'waiting'],
    ])
    const [first] = (await storage().listQueue({ limit: 1 }, T0)).items
    expect(first).toEqual({
      id: emails[0]!.deliveries[0]!.id,
      emailId: emails[0]!.id,
      teamId: emails[0]!.teamId,
      recipient: 'a@x.example',
      field: 'to',
      pool: 'default',
      provider: '?x.example',
      state: 'waiting',
      attempts: 0,
      createdAt: T0,
      updatedAt: T0,
      dueAt: T0,
      expiresAt: T0 + 4 * DAY,
      scheduledAt: null,
      cause: null,
    })
  })

  test('a filter matches deliveries that meet all of its conditions', async () => {
    const { team, emails } = await fill(storage())
    const other = await makeTeam(storage())
    await putEmail(storage(), other.team.id, ['e@x.example'])
    const recipients = async (filter: Parameters<Storage['holdQueue']>[0]) =>
      (await listed(storage(), filter)).map(([recipient]) => recipient)
    expect(await recipients({ teamId: other.team.id })).toEqual(['e@x.example'])
    expect(await recipients({ teamId: team.id, domain: 'X.EXAMPLE' })).toEqual(['a@x.example', 'b@X.example'])
    expect(await recipients({ emailId: emails[1]!.id })).toEqual(['b@X.example', 'c@y.example'])
    expect(await recipients({ emailId: emails[1]!.id, domain: 'y.example' })).toEqual(['c@y.example'])
    expect(await recipients({ deliveryIds: [emails[2]!.deliveries[0]!.id] })).toEqual(['d@z.example'])
    expect(await recipients({ teamId: other.team.id, emailId: emails[0]!.id })).toEqual([])
    await storage().holdQueue({ domain: 'y.example' }, T0)
    expect(await recipients({ state: 'held' })).toEqual(['c@y.example'])
    expect(await recipients({ teamId: team.id, state: 'waiting' })).toEqual([
      'a@x.example',
      'b@X.example',
      'd@z.example',
    ])
  })

  test('the summary counts each delivery once', async () => {
    const { team } = await fill(storage())
    expect(await summaryOf(storage(), {}, T0 - 1)).toEqual({
      waiting: 4,
      held: 0,
      inFlight: 0,
      oldestAt: T0,
    })
    await storage().lease(leaseArgs({ limit: 1 }), T0)
    await storage().holdQueue({ domain: 'y.example' }, T0)
    const summary = { waiting: 2, held: 1, inFlight: 1, oldestAt: T0 }
    expect(await summaryOf(storage(), { teamId: team.id }, T0)).toEqual(summary)
    const after = await summaryOf(storage(), { teamId: team.id }, T0 + 30 * MINUTE)
    expect(after).toEqual({ waiting: 3, held: 1, inFlight: 0, oldestAt: T0 })
    const other = await makeTeam(storage())
    expect(await summaryOf(storage(), { teamId: other.team.id }, T0)).toEqual({
      waiting: 0,
      held: 0,
      inFlight: 0,
      oldestAt: null,
    })
  })

  test('held deliveries are not leased until they are released', async () => {
    await fill(storage())
    expect(await storage().holdQueue({ domain: 'x.example' }, T0)).toEqual({ count: 2, next: null })
    expect(await storage().holdQueue({ domain: 'x.example' }, T0)).toEqual({ count: 0, next: null })
    const leased = await storage().lease(leaseArgs(), T0 + DAY)
    expect(leased.map((delivery) => delivery.domain)).toEqual(['y.example', 'z.example'])
    expect(await storage().releaseQueue({}, T0)).toEqual({ count: 2, next: null })
    expect(await storage().releaseQueue({}, T0)).toEqual({ count: 0, next: null })
    expect(await storage().lease(leaseArgs(), T0 + DAY)).toHaveLength(2)
  })

  test('a delivery held in flight can finish, and stays held if deferred', async () => {
    const { emails } = await fill(storage())
    const ids = emails.slice(0, 2).map((email) => email.deliveries[0]!.id) as [string, string]
    await storage().lease(leaseArgs(), T0 + MINUTE)
    await storage().holdQueue({ domain: 'x.example' }, T0)
    const changes = [change(ids[0], 'delivered'), change(ids[1], 'waiting', null, T0 + 3 * MINUTE)]
    const { lost } = await storage().settle({ owner: 'one', attempt: null, changes }, T0)
    expect(lost).toEqual([])
    expect(await listed(storage(), { domain: 'x.example' })).toEqual([['b@X.example', 'held']])
    const leased = await storage().lease(leaseArgs({ owner: 'two' }), T0 + 20 * MINUTE)
    expect(leased.map((delivery) => delivery.recipient)).toEqual(['d@z.example'])
  })

  test('retry makes deferred deliveries due now, but not held, leased or scheduled ones', async () => {
    const { team } = await makeTeam(storage())
    const put = (to: string, scheduledAt: number | null = null) =>
      putEmail(storage(), team.id, [to], scheduledAt ?? T0, { scheduledAt })
    const deferred = await put('deferred@x.example')
    await storage().lease(leaseArgs(), T0)
    const later = [change(deferred.deliveries[0]!.id, 'waiting', null, T0 + DAY)]
    await storage().settle({ owner: 'one', attempt: null, changes: later }, T0)
    await put('held@x.example')
    await storage().holdQueue({ emailId: (await put('held-too@x.example')).id }, T0)
    await storage().holdQueue({ domain: 'x.example', state: 'waiting' }, T0)
    await storage().releaseQueue({ emailId: deferred.id }, T0)
    await put('leased@y.example')
    await storage().lease(leaseArgs({ leaseUntil: T0 + DAY }), T0)
    await put('scheduled@z.example', T0 + DAY)
    expect(await storage().retryQueue({}, T0 + MINUTE)).toEqual({ count: 1, next: null })
    const leased = await storage().lease(leaseArgs(), T0 + MINUTE)
    expect(leased.map((delivery) => delivery.recipient)).toEqual(['deferred@x.example'])
  })

  test('a dropped delivery fails with an event', async () => {
    const { team, emails } = await fill(storage())
    await storage().holdQueue({ domain: 'y.example' }, T0)
    expect(await storage().dropQueue({ emailId: emails[1]!.id }, T0 + 9)).toEqual({ count: 2, next: null })
    const { deliveries, events } = await storage().getHistory({ teamId: team.id, id: emails[1]!.id }, T0)
    const note = 'dropped by an operator'
    const why = { phase: 'queue', host: null, ip: null, reply: null, note }
    expect(deliveries).toMatchObject([
      { recipient: 'b@X.example', state: 'failed', cause: why, updatedAt: T0 + 9, dueAt: null },
      { recipient: 'c@y.example', state: 'failed', cause: why, updatedAt: T0 + 9, dueAt: null },
    ])
    expect(events).toMatchObject([
      {
        type: 'email.failed',
        deliveryId: deliveries[0]!.id,
        createdAt: T0 + 9,
        data: { recipient: 'b@X.example', cause: why, failed: { reason: note } },
      },
      { type: 'email.failed', deliveryId: deliveries[1]!.id },
    ])
    const stored = await storage().getEmail({ teamId: team.id, id: emails[1]!.id }, T0)
    expect(stored?.lastEvent).toBe('failed')
    expect(await listed(storage())).toEqual([
      ['a@x.example', 'waiting'],
      ['d@z.example', 'waiting'],
    ])
  })

  test('does not drop deliveries in flight, and keeps earlier attempts of dropped ones', async () => {
    const { team, emails } = await fill(storage())
    const [tried] = await storage().lease(leaseArgs({ limit: 1 }), T0)
    expect(await storage().dropQueue({ domain: 'x.example' }, T0)).toEqual({ count: 1, next: null })
    expect(await listed(storage(), { domain: 'x.example' })).toEqual([['a@x.example', 'waiting']])
    const changes = [change(tried!.id, 'waiting', null, T0 + DAY)]
    expect(await storage().settle({ owner: 'one', attempt: null, changes }, T0)).toEqual({ lost: [] })
    expect(await storage().dropQueue({ domain: 'x.example' }, T0)).toEqual({ count: 1, next: null })
    const { deliveries } = await storage().getHistory({ teamId: team.id, id: emails[0]!.id }, T0)
    expect(deliveries).toMatchObject([{ state: 'failed', attempts: 1 }])
  })

  test('drops all deliveries, even more than one batch of statements', async () => {
    const { team } = await makeTeam(storage())
    const many = Array.from({ length: 1203 }, (_, i) => `u${i}@x.example`)
    const email = await putEmail(storage(), team.id, [...many, 'kept@y.example'])
    expect(await storage().dropQueue({ domain: 'x.example' }, T0)).toEqual({ count: 1203, next: null })
    const { deliveries, events } = await storage().getHistory({ teamId: team.id, id: email.id }, T0)
    expect(deliveries.filter((delivery) => delivery.state === 'failed')).toHaveLength(1203)
    expect(new Set(events.map((event) => event.deliveryId)).size).toBe(1203)
    expect(await listed(storage())).toEqual([['kept@y.example', 'waiting']])
  })
}
