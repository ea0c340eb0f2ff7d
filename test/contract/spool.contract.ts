import { expect, test } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import type { LeasedDelivery, NewEmail, Storage } from '../../appliance/storage/storage.ts'
import { cause, change, DAY, leaseArgs, makeTeam, MINUTE, newAttempt, putEmail, T0 } from './fixtures.ts'

const interrupted = { phase: 'queue' as const, host: null, ip: null, reply: null, note: 'Interrupted.' }

const recipients = (leased: LeasedDelivery[]): string[] => leased.map((delivery) => delivery.recipient)

async function oneLeased(storage: Storage): Promise<{ email: NewEmail; leased: LeasedDelivery }> {
  const { team } = await makeTeam(storage)
  const email = await putEmail(storage, team.id, ['a@example.net'])
  const [leased] = await storage.lease(leaseArgs(), T0)
  return { email, leased: leased! }
}

const history = (storage: Storage, { teamId, id }: NewEmail) => storage.getHistory({ teamId, id }, T0)

export function spoolContract(storage: () => Storage): void {
  const lastEvent = async ({ teamId, id }: NewEmail) =>
    (await storage().getEmail({ teamId, id }, T0))?.lastEvent

  test('leases a due delivery with all data that an attempt needs', async () => {
    const { team } = await makeTeam(storage())
    const email = await putEmail(storage(), team.id, ['A.b@example.net'])
    expect(await storage().lease(leaseArgs(), T0 + 5)).toEqual([
      {
        id: email.deliveries[0]!.id,
        teamId: team.id,
        emailId: email.id,
        domainId: email.domainId,
        recipient: 'A.b@example.net',
        domain: 'example.net',
        pool: 'default',
        provider: '?example.net',
        stream: 'transactional',
        attempts: 1,
        createdAt: T0,
        expiresAt: T0 + 4 * DAY,
        leaseUntil: T0 + 30 * MINUTE,
        returnPath: email.returnPath,
        scheduledAt: null,
        reportTo: null,
        dsn: { ret: null, envid: null, notify: null, orcpt: null },
        requireTls: null,
        dueAt: T0,
        touchedAt: null,
      },
    ])
  })

  test('leases nothing that is not due or is already leased', async () => {
    const { team } = await makeTeam(storage())
    await putEmail(storage(), team.id, ['a@example.net'], T0)
    expect(await storage().lease(leaseArgs(), T0 - 1)).toEqual([])
    expect(await storage().lease(leaseArgs(), T0)).toHaveLength(1)
    expect(await storage().lease(leaseArgs({ owner: 'two' }), T0)).toEqual([])
  })

  test('leases the oldest due delivery first, whatever the order of acceptance', async () => {
    const { team } = await makeTeam(storage())
    const dues = [30, 10, 40, 20]
    for (const due of dues) {
      await putEmail(storage(), team.id, [`at${due}@lane${due}.example`], T0 + due)
    }
    const leased = await storage().lease(leaseArgs({ limit: 3 }), T0 + 100)
    expect(recipients(leased)).toEqual(['at10@lane10.example', 'at20@lane20.example', 'at30@lane30.example'])
  })

  test('leases no more deliveries for a destination than its limit, and none for a closed destination', async () => {
    const { team } = await makeTeam(storage())
    let due = T0
    for (const user of ['a', 'b', 'c']) {
      for (const domain of ['x.example', 'y.example', 'z.example']) {
        await putEmail(storage(), team.id, [`${user}@${domain}`], due++)
      }
    }
    const leased = await storage().lease(
      leaseArgs({ room: { 'default/?x.example': 1, 'default/?y.example': 0 }, roomElse: 2 }),
      due,
    )
    expect(recipients(leased)).toEqual(['a@x.example', 'a@z.example', 'b@z.example'])
  })

  test('leases recipients of one email in one domain together, before newer mail', async () => {
    const { team } = await makeTeam(storage())
    const first = await putEmail(storage(), team.id, ['a@x.example', 'b@y.example', 'c@x.example'])
    await putEmail(storage(), team.id, ['d@x.example'], T0)
    // Deferred alone, so that its next attempt differs from its sibling's.
    await storage().lease(leaseArgs({ limit: 1, recipients: 1 }), T0)
    const changes = [change(first.deliveries[0]!.id, 'waiting', null, T0 + 2)]
    await storage().settle({ owner: 'one', attempt: null, changes }, T0)
    const leased = await storage().lease(leaseArgs({ room: { 'default/?y.example': 0 } }), T0 + 3)
    expect(recipients(leased)).toEqual(['c@x.example', 'a@x.example', 'd@x.example'])
  })

  test('counts recipients of one email and domain as one message toward the limit, up to a maximum', async () => {
    const { team } = await makeTeam(storage())
    const at = (domain: string) => Array.from({ length: 5 }, (_, i) => `u${i}@${domain}`)
    await putEmail(storage(), team.id, [...at('x.example'), ...at('y.example')], T0)
    await putEmail(storage(), team.id, ['late@x.example'], T0 + 1)
    const lease = async (more: object) =>
      (await storage().lease(leaseArgs({ room: { 'default/?y.example': 0 }, ...more }), T0 + 1)).map(
        ({ recipient }) => recipient,
      )
    expect(await lease({ roomElse: 1, recipients: 3 })).toEqual([
      'u0@x.example',
      'u1@x.example',
      'u2@x.example',
    ])
    expect(await lease({ limit: 2 })).toEqual(['u3@x.example', 'u4@x.example', 'late@x.example'])
    expect(await lease({ limit: 1, room: {} })).toEqual(at('y.example'))
  })

  test('a destination with many deliveries at the head of the queue does not block others', async () => {
    const { team } = await makeTeam(storage())
    const many = Array.from({ length: 700 }, (_, i) => `u${i}@big.example`)
    await putEmail(storage(), team.id, many, T0)
    await putEmail(storage(), team.id, ['late@small.example'], T0 + 2)
    await putEmail(storage(), team.id, ['early@tiny.example'], T0 + 1)
    const args = leaseArgs({ limit: 10, roomElse: 4, recipients: 1 })
    const domains = (await storage().lease(args, T0 + 3)).map((delivery) => delivery.domain)
    expect(domains).toEqual([...Array<string>(4).fill('big.example'), 'tiny.example', 'small.example'])
    expect(await storage().nextDue({ closed: ['default/?big.example'] }, T0 + 3)).toBeUndefined()
    await putEmail(storage(), team.id, ['next@small.example'], T0 + 9)
    expect(await storage().nextDue({ closed: ['default/?big.example'] }, T0 + 3)).toBe(T0 + 9)
  })

  test('counts the attempt and sets the time of the next one before connecting', async () => {
    const { email } = await oneLeased(storage())
    const dueAfter = async () => (await history(storage(), email)).deliveries[0]
    expect(await dueAfter()).toMatchObject({ attempts: 1, dueAt: T0 + MINUTE, state: 'waiting', cause: null })
    let now = T0
    for (const [attempts, delay] of [
      [2, 5 * MINUTE],
      [3, 10 * MINUTE],
      [4, 10 * MINUTE],
    ] as const) {
      now += DAY / 4
      const leased = await storage().lease(leaseArgs({ leaseUntil: now + MINUTE }), now)
      expect(leased).toMatchObject([{ attempts }])
      expect(await dueAfter()).toMatchObject({ attempts, dueAt: now + delay })
    }
  })

  test('rejects a lease without a retry schedule', async () => {
    await expect(storage().lease(leaseArgs({ retryDelays: [] }), T0)).rejects.toThrow('retry delay')
  })

  test('creates one sent event per email, at the first attempt to any recipient', async () => {
    const { team } = await makeTeam(storage())
    const email = await putEmail(storage(), team.id, ['a@x.example', 'b@y.example'])
    await storage().lease(leaseArgs({ limit: 1 }), T0 + 1)
    await storage().lease(leaseArgs({ limit: 1 }), T0 + 2)
    const { events } = await history(storage(), email)
    expect(events).toMatchObject([{ type: 'email.sent', createdAt: T0 + 1, deliveryId: null, data: {} }])
    const stored = await storage().getEmail({ teamId: team.id, id: email.id }, T0)
    expect(stored?.lastEvent).toBe('sent')
  })

  test('the first attempt does not overwrite a later status of the email', async () => {
    const { team } = await makeTeam(storage())
    const email = await putEmail(storage(), team.id, ['a@x.example', 'b@y.example'])
    await storage().dropQueue({ deliveryIds: [email.deliveries[0]!.id] }, T0)
    await storage().lease(leaseArgs(), T0)
    const stored = await storage().getEmail({ teamId: team.id, id: email.id }, T0)
    expect(stored?.lastEvent).toBe('failed')
  })

  test('a final change ends the delivery and creates an event', async () => {
    const { email, leased } = await oneLeased(storage())
    const attempt = newAttempt(email, [leased.id])
    const changes = [change(leased.id, 'delivered', 'email.delivered')]
    expect(await storage().settle({ owner: 'one', attempt, changes }, T0 + 9)).toEqual({ lost: [] })
    const { deliveries, attempts, events } = await history(storage(), email)
    expect(deliveries).toMatchObject([
      {
        state: 'delivered',
        attempts: 1,
        cause: cause('delivered'),
        createdAt: T0,
        updatedAt: T0 + 9,
        dueAt: null,
        expiresAt: null,
      },
    ])
    expect(attempts).toEqual([attempt])
    expect(events).toMatchObject([
      { type: 'email.sent' },
      {
        id: changes[0]!.event!.id,
        type: 'email.delivered',
        deliveryId: leased.id,
        createdAt: T0 + 9,
        data: { recipient: 'someone' },
      },
    ])
    const stored = await storage().getEmail({ teamId: email.teamId, id: email.id }, T0)
    expect(stored?.lastEvent).toBe('delivered')
    expect(await storage().lease(leaseArgs(), T0 + DAY)).toEqual([])
  })

  test('a deferred delivery is leased at the given time', async () => {
    const { email, leased } = await oneLeased(storage())
    const changes = [change(leased.id, 'waiting', 'email.delivery_delayed', T0 + 3 * MINUTE)]
    await storage().settle({ owner: 'one', attempt: null, changes }, T0 + 9)
    expect((await history(storage(), email)).deliveries).toMatchObject([
      { state: 'waiting', dueAt: T0 + 3 * MINUTE, attempts: 1, cause: cause('waiting'), updatedAt: T0 + 9 },
    ])
    expect(await storage().lease(leaseArgs(), T0 + 3 * MINUTE - 1)).toEqual([])
    expect(await storage().lease(leaseArgs(), T0 + 3 * MINUTE)).toMatchObject([{ attempts: 2 }])
  })

  test('only the owner of a lease can change the delivery', async () => {
    const { email, leased } = await oneLeased(storage())
    const changes = [change(leased.id, 'bounced', 'email.bounced')]
    const attempt = newAttempt(email, [leased.id])
    expect(await storage().settle({ owner: 'two', attempt, changes }, T0)).toEqual({ lost: [leased.id] })
    const { deliveries, events, attempts } = await history(storage(), email)
    expect(deliveries).toMatchObject([{ state: 'waiting', cause: null }])
    expect(events).toHaveLength(1)
    expect(attempts, 'the conversation took place all the same').toEqual([attempt])
  })

  test('another owner can lease a delivery with an expired lease, and the first owner loses it', async () => {
    const { leased } = await oneLeased(storage())
    const later = T0 + 30 * MINUTE
    const [again] = await storage().lease(leaseArgs({ owner: 'two', leaseUntil: later + MINUTE }), later)
    expect(again).toMatchObject({ id: leased.id, attempts: 2 })
    const delivered = [change(leased.id, 'delivered', 'email.delivered')]
    expect(await storage().settle({ owner: 'one', attempt: null, changes: delivered }, later)).toEqual({
      lost: [leased.id],
    })
    expect(await storage().settle({ owner: 'two', attempt: null, changes: delivered }, later)).toEqual({
      lost: [],
    })
  })

  test('settling a lease twice fails the second time, and records the attempt once', async () => {
    const { email, leased } = await oneLeased(storage())
    const args = {
      owner: 'one',
      attempt: newAttempt(email, [leased.id]),
      changes: [change(leased.id, 'delivered', 'email.delivered')],
    }
    await storage().settle(args, T0)
    expect(await storage().settle(args, T0)).toEqual({ lost: [leased.id] })
    const { attempts, events } = await history(storage(), email)
    expect(attempts).toHaveLength(1)
    expect(events.map((event) => event.type)).toEqual(['email.sent', 'email.delivered'])
  })

  test('applies the changes of leased deliveries and returns the lost ones', async () => {
    const { team } = await makeTeam(storage())
    const email = await putEmail(storage(), team.id, ['a@x.example', 'b@x.example'])
    const [first, second] = email.deliveries.map((delivery) => delivery.id) as [string, string]
    await storage().lease(leaseArgs(), T0)
    await storage().unlease({ owner: 'one', deliveryIds: [first] }, T0)
    const changes = [change(first, 'delivered'), change(second, 'delivered'), change(newId(T0), 'failed')]
    const { lost } = await storage().settle({ owner: 'one', attempt: null, changes }, T0)
    expect(lost).toEqual([first, changes[2]!.deliveryId])
    const states = (await history(storage(), email)).deliveries.map((delivery) => delivery.state)
    expect(states).toEqual(['waiting', 'delivered'])
  })

  test('a released delivery is due at once without counting the attempt, and is sent with one event', async () => {
    const { email, leased } = await oneLeased(storage())
    await storage().unlease({ owner: 'two', deliveryIds: [leased.id] }, T0 + 1)
    expect(await storage().lease(leaseArgs(), T0 + 1), 'another owner cannot give it back').toEqual([])
    await storage().unlease({ owner: 'one', deliveryIds: [leased.id] }, T0 + 2)
    expect((await history(storage(), email)).deliveries).toMatchObject([{ attempts: 0, dueAt: T0 + 2 }])
    expect(await lastEvent(email)).toBe('queued')
    expect(await storage().lease(leaseArgs(), T0 + 2)).toMatchObject([{ id: leased.id, attempts: 1 }])
    expect(await lastEvent(email)).toBe('sent')
    expect((await history(storage(), email)).events).toHaveLength(1)
  })

  test('an email stays sent after a lease is released if another recipient had an attempt', async () => {
    const { team } = await makeTeam(storage())
    const email = await putEmail(storage(), team.id, ['a@x.test', 'b@y.test'])
    await storage().lease(leaseArgs(), T0)
    const [first, second] = email.deliveries.map(({ id }) => id) as [string, string]
    await storage().unlease({ owner: 'one', deliveryIds: [first] }, T0)
    expect(await lastEvent(email)).toBe('sent')
    await storage().unlease({ owner: 'one', deliveryIds: [second] }, T0)
    expect(await lastEvent(email)).toBe('queued')
  })

  const voided = (...owners: string[]) => ({ owners, cause: interrupted, firstDueAt: T0 + 10_000 })

  test('a voided lease of a later attempt is due at the time set by the lease', async () => {
    const { email, leased } = await oneLeased(storage())
    await storage().voidLeases(voided('one'), T0)
    expect(await storage().lease(leaseArgs(), T0 + 10_000)).toMatchObject([{ id: leased.id, attempts: 2 }])
    expect(await storage().voidLeases({ ...voided('one'), firstDueAt: T0 + 20_000 }, T0 + 10_000)).toBe(1)
    const [delivery] = (await history(storage(), email)).deliveries
    expect(delivery!.dueAt).toBeGreaterThan(T0 + MINUTE)
  })

  test('lists lease owners until their leases end, and voids only the leases of the given owners', async () => {
    const teamId = (await makeTeam(storage())).team.id
    const [first, second] = [
      await putEmail(storage(), teamId, ['a@x.test']),
      await putEmail(storage(), teamId, ['b@y.test']),
    ]
    const [mine] = await storage().lease(leaseArgs({ owner: 'here/1', limit: 1 }), T0)
    const [theirs] = await storage().lease(leaseArgs({ owner: 'there/1', limit: 1 }), T0)
    expect(new Set([mine!.emailId, theirs!.emailId])).toEqual(new Set([first.id, second.id]))
    expect((await storage().leaseOwners({}, T0)).toSorted()).toEqual(['here/1', 'there/1'])
    const { leaseUntil } = mine!
    expect(await storage().leasedUntil({ owner: 'here/1', leaseUntil }, T0)).toEqual([mine!.id])
    expect(await storage().leasedUntil({ owner: 'here/1', leaseUntil: leaseUntil + 1 }, T0)).toEqual([])
    expect(await storage().voidLeases(voided('here/1', 'here/0'), T0)).toBe(1)
    expect(await storage().leaseOwners({}, T0)).toEqual(['there/1'])
    const settled = (owner: string, id: string) =>
      storage().settle({ owner, attempt: null, changes: [change(id, 'delivered')] }, T0)
    expect(await settled('here/1', mine!.id)).toEqual({ lost: [mine!.id] })
    expect(await settled('there/1', theirs!.id)).toEqual({ lost: [] })
    expect(await storage().leaseOwners({}, T0)).toEqual([])
  })

  test('voiding a lease never delays the next attempt', async () => {
    await oneLeased(storage())
    await storage().voidLeases({ ...voided('one'), firstDueAt: T0 + 2 * MINUTE }, T0)
    expect(await storage().nextDue({ closed: [] }, T0)).toBe(T0 + MINUTE)
  })

  test('voiding a lease records the cause, and makes the next attempt after a first one due sooner', async () => {
    const { email, leased } = await oneLeased(storage())
    expect(await storage().voidLeases(voided('two', 'three'), T0)).toBe(0)
    expect(await storage().voidLeases(voided('one'), T0)).toBe(1)
    expect(await storage().voidLeases(voided('one'), T0)).toBe(0)
    expect(await storage().nextDue({ closed: [] }, T0)).toBe(T0 + 10_000)
    expect((await history(storage(), email)).deliveries).toMatchObject([{ cause: interrupted }])
    const changes = [change(leased.id, 'delivered')]
    expect(await storage().settle({ owner: 'one', attempt: null, changes }, T0)).toEqual({
      lost: [leased.id],
    })
    expect((await history(storage(), email)).deliveries).toMatchObject([{ attempts: 1, state: 'waiting' }])
  })

  test('the next due time ignores leased and held deliveries and closed destinations', async () => {
    const { team } = await makeTeam(storage())
    expect(await storage().nextDue({ closed: [] }, T0)).toBeUndefined()
    const emails: NewEmail[] = []
    for (const due of [10, 20, 30, 40]) {
      emails.push(await putEmail(storage(), team.id, [`a@lane${due}.example`], T0 + due))
    }
    expect(await storage().nextDue({ closed: [] }, T0)).toBe(T0 + 10)
    await storage().lease(leaseArgs({ limit: 1, leaseUntil: T0 + DAY }), T0 + 10)
    expect(await storage().nextDue({ closed: [] }, T0)).toBe(T0 + 20)
    await storage().holdQueue({ emailId: emails[1]!.id }, T0)
    expect(await storage().nextDue({ closed: [] }, T0)).toBe(T0 + 30)
    expect(await storage().nextDue({ closed: ['default/?lane30.example', 'elsewhere'] }, T0)).toBe(T0 + 40)
  })
}
