import { describe, expect } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import {
  runAllSteps,
  type HoldRule,
  type NewEmail,
  type NewReceipt,
  type Storage,
} from '../../appliance/storage/storage.ts'
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
} from './fixtures.ts'
import { sorted, type Racing } from './racing.ts'

/** Races about accepting, leasing and settling mail. */
export function racesOfMail(race: Racing): void {
  describe('accepting mail', () => acceptRaces(race))
  describe('leasing deliveries', () => leaseRaces(race))
  describe('a scheduled email', () => scheduleRaces(race))
  describe('settling deliveries', () => settleRaces(race))
  describe('reports', () => reportRaces(race))
}

const listed = async (storage: Storage, teamId: string): Promise<string[]> =>
  (await storage.listEmails({ teamId, limit: 100 }, T0)).items.map(({ id }) => id)

const idsOf = (email: NewEmail): string[] => email.deliveries.map(({ id }) => id)

const deliveriesOf = async (storage: Storage, { teamId, id }: NewEmail) =>
  (await storage.getHistory({ teamId, id }, T0)).deliveries

const eventsOf = async (storage: Storage, { teamId, id }: NewEmail): Promise<string[]> =>
  (await storage.getHistory({ teamId, id }, T0)).events.map(({ type }) => type).sort()

function acceptRaces(race: Racing): void {
  race(
    'stores one email for an idempotency key, also after its receipt expired',
    async ({ storage, atOnce }) => {
      const { team } = await makeTeam(storage)
      const put = (now: number) => async (at: Storage) => {
        const email = newEmail(team.id, ['a@x.example'], now)
        const receipt: NewReceipt = {
          teamId: team.id,
          scope: 'POST /emails',
          key: 'k',
          fingerprint: 'f',
          body: email.id,
          emailIds: [email.id],
          expiresAt: now + DAY,
        }
        const done = await at.put(putArgs(email, { receipt }), now)
        return done.kind === 'replay' ? done.receipt.body : `stored ${email.id}`
      }
      for (const now of [T0, T0 + DAY]) {
        const answers = sorted(await atOnce(put(now), put(now)))
        expect(answers[1]).toBe(`stored ${answers[0]}`)
      }
      expect(await listed(storage, team.id)).toHaveLength(2)
    },
  )

  for (const period of ['daily', 'monthly'] as const)
    race(`never exceeds the ${period} quota`, async ({ storage, atOnce }) => {
      const { team } = await makeTeam(storage)
      const quota = { teamId: team.id, daily: null, monthly: null, [period]: 3 }
      const put = async (at: Storage) => {
        const email = newEmail(team.id, ['a@x.example', 'b@x.example'])
        return (await at.put(putArgs(email, { quota }), T0)).kind
      }
      expect(sorted(await atOnce(put, put))).toEqual(['over_quota', 'stored'])
      expect(await storage.usage({ teamId: team.id }, T0)).toEqual({ daily: 2, monthly: 2 })
      expect(await listed(storage, team.id)).toHaveLength(1)
    })

  race('counts the usage of two concurrent emails together', async ({ storage, atOnce }) => {
    const { team } = await makeTeam(storage)
    const quota = { teamId: team.id, daily: 10, monthly: 10 }
    const put = (at: Storage) => at.put(putArgs(newEmail(team.id, ['a@x.example']), { quota }), T0)
    const answers = await atOnce(put, put)
    const used = answers.map((one) => (one.kind === 'stored' ? one.usage!.daily : null))
    expect(sorted(used)).toEqual(['1', '2'])
  })

  const ruleOf = (more: Partial<HoldRule>): HoldRule => ({
    id: newId(T0),
    teamId: null,
    domain: null,
    provider: null,
    tag: null,
    createdAt: T0,
    ...more,
  })

  race('a new hold rule misses no email that is being stored', async ({ storage, atOnce }) => {
    const { team } = await makeTeam(storage)
    const domain = `${unique('held')}.example`
    const rule = ruleOf({ domain })
    const [email] = await atOnce(
      (at) => putEmail(at, team.id, [`a@${domain}`]),
      async (at) => {
        await at.addHoldRule({ rule, most: 1000 }, T0)
        await runAllSteps((after) => at.holdQueue({ domain, after, by: rule.id }, T0))
      },
    )
    expect(await deliveriesOf(storage, email)).toMatchObject([{ state: 'held' }])
    await storage.removeHoldRule({ id: rule.id }, T0)
  })

  race(
    'mail to a domain whose provider is being assigned gets the provider and is held by the rule',
    async ({ storage, atOnce }) => {
      const { team } = await makeTeam(storage)
      const [domain, provider] = [`${unique('placed')}.example`, unique('provider')]
      const rule = ruleOf({ provider })
      await storage.addHoldRule({ rule, most: 1000 }, T0)
      const [email] = await atOnce(
        (at) => putEmail(at, team.id, [`a@${domain}`]),
        (at) => runAllSteps((after) => at.place({ domain, provider, after }, T0)),
      )
      expect(await deliveriesOf(storage, email)).toMatchObject([{ state: 'held', provider }])
      await storage.removeHoldRule({ id: rule.id }, T0)
    },
  )

  race('limits the number of hold rules', async ({ storage, atOnce }) => {
    const before = await storage.listHoldRules({}, T0)
    const add = (at: Storage) =>
      at.addHoldRule({ rule: ruleOf({ domain: 'x.example' }), most: before.length + 1 }, T0)
    expect(sorted(await atOnce(add, add))).toEqual(['false', 'true'])
    const added = (await storage.listHoldRules({}, T0)).filter(
      ({ id }) => !before.some((one) => one.id === id),
    )
    expect(added).toHaveLength(1)
    await storage.removeHoldRule({ id: added[0]!.id }, T0)
  })
}

const owner = (name: string) => leaseArgs({ owner: name })

function leaseRaces(race: Racing): void {
  race('a delivery has one owner', async ({ storage, atOnce }) => {
    const { team } = await makeTeam(storage)
    const to = Array.from({ length: 6 }, (_, at) => `a@${unique('x')}-${at}.example`)
    const email = await putEmail(storage, team.id, to)
    const leased = (
      await atOnce(
        (at) => at.lease(owner('one'), T0),
        (at) => at.lease(owner('two'), T0),
      )
    ).flat()
    expect(leased.map(({ id }) => id).sort()).toEqual(idsOf(email).sort())
    expect((await deliveriesOf(storage, email)).map(({ attempts }) => attempts)).toEqual([1, 1, 1, 1, 1, 1])
    expect(await eventsOf(storage, email)).toEqual(['email.sent'])
    await storage.voidLeases(
      { owners: ['one', 'two'], cause: change('', 'waiting').cause, firstDueAt: T0 },
      T0,
    )
    await storage.dropQueue({ teamId: team.id }, T0)
  })

  for (const end of ['dropQueue', 'expireQueue'] as const)
    race(`a delivery is either leased or ended by ${end}`, async ({ storage, atOnce }) => {
      const { team } = await makeTeam(storage)
      const email = await putEmail(storage, team.id, ['a@x.example'])
      const [leased, given] = await atOnce(
        async (at) => (await at.lease(owner('one'), T0)).length,
        async (at) => (await at[end]({ emailId: email.id }, T0)).count,
      )
      expect(leased + given).toBe(1)
      await storage.dropQueue({ emailId: email.id }, T0 + DAY)
    })

  race('a delivery that two operators drop and expire ends once', async ({ storage, atOnce }) => {
    const { team } = await makeTeam(storage)
    const email = await putEmail(storage, team.id, ['a@x.example', 'b@x.example', 'c@x.example'])
    const [dropped, expired] = await atOnce(
      (at) => at.dropQueue({ emailId: email.id }, T0),
      (at) => at.expireQueue({ emailId: email.id }, T0),
    )
    expect(dropped.count + expired.count).toBe(3)
    expect(await eventsOf(storage, email)).toHaveLength(3)
  })

  race('two concurrent releases count each delivery once', async ({ storage, atOnce }) => {
    const { team } = await makeTeam(storage)
    await putEmail(storage, team.id, ['a@x.example', 'b@x.example'])
    await storage.holdQueue({ teamId: team.id }, T0)
    const release = async (at: Storage) => (await at.releaseQueue({ teamId: team.id }, T0)).count
    const [one, two] = await atOnce(release, release)
    expect(one + two).toBe(2)
    await storage.dropQueue({ teamId: team.id }, T0)
  })
}

function scheduleRaces(race: Racing): void {
  /** Stores a scheduled email that is due. */
  const scheduled = async (storage: Storage): Promise<NewEmail> => {
    const { team } = await makeTeam(storage)
    return putEmail(storage, team.id, ['a@x.example'], T0, { scheduledAt: T0 })
  }

  race('is either canceled or sent', async ({ storage, atOnce }) => {
    const email = await scheduled(storage)
    const [leased, canceled] = await atOnce(
      async (at) => (await at.lease(owner('one'), T0)).length,
      async (at) => (await at.cancel({ teamId: email.teamId, id: email.id }, T0)).kind,
    )
    expect(['0,changed', '1,not_scheduled']).toContain(`${leased},${canceled}`)
    const state = leased === 1 ? 'waiting' : 'canceled'
    expect(await deliveriesOf(storage, email)).toMatchObject([{ state }])
    await storage.dropQueue({ emailId: email.id }, T0 + DAY)
  })

  race('is either rescheduled or sent', async ({ storage, atOnce }) => {
    const email = await scheduled(storage)
    const times = { scheduledAt: T0 + DAY, expiresAt: T0 + 5 * DAY }
    const [leased, moved] = await atOnce(
      async (at) => (await at.lease(owner('one'), T0)).length,
      async (at) => (await at.reschedule({ teamId: email.teamId, id: email.id, ...times }, T0)).kind,
    )
    expect(['0,changed', '1,not_scheduled']).toContain(`${leased},${moved}`)
    const [delivery] = await deliveriesOf(storage, email)
    expect(delivery!.dueAt).toBe(leased === 1 ? T0 + MINUTE : T0 + DAY)
    await storage.dropQueue({ emailId: email.id }, T0 + DAY)
  })

  race('stays canceled when it is rescheduled concurrently', async ({ storage, atOnce }) => {
    const { teamId, id } = await scheduled(storage)
    const times = { scheduledAt: T0 + DAY, expiresAt: T0 + 5 * DAY }
    const [canceled] = await atOnce(
      (at) => at.cancel({ teamId, id }, T0),
      (at) => at.reschedule({ teamId, id, ...times }, T0),
    )
    expect(canceled.kind).toBe('changed')
    expect((await storage.getEmail({ teamId, id }, T0))!.lastEvent).toBe('canceled')
    expect((await storage.listQueue({ emailId: id, limit: 9 }, T0)).items).toEqual([])
  })
}

function settleRaces(race: Racing): void {
  /** Stores an email to one recipient, leased by `one`. */
  const leased = async (storage: Storage): Promise<NewEmail> => {
    const { team } = await makeTeam(storage)
    const email = await putEmail(storage, team.id, ['a@x.example'])
    expect(await storage.lease(owner('one'), T0)).toHaveLength(1)
    return email
  }
  const deliver = (email: NewEmail) => (at: Storage) =>
    at.settle(
      { owner: 'one', attempt: null, changes: [change(idsOf(email)[0]!, 'delivered', 'email.delivered')] },
      T0,
    )

  race('a delivery ends once', async ({ storage, atOnce }) => {
    const email = await leased(storage)
    const answers = await atOnce(deliver(email), deliver(email))
    expect(answers.flatMap(({ lost }) => lost)).toEqual(idsOf(email))
    expect(await eventsOf(storage, email)).toEqual(['email.delivered', 'email.sent'])
  })

  const takers: [string, (email: NewEmail, at: Storage) => Promise<unknown>][] = [
    ['released', (email, at) => at.unlease({ owner: 'one', deliveryIds: idsOf(email) }, T0)],
    [
      'voided',
      (_, at) => at.voidLeases({ owners: ['one'], cause: change('', 'waiting').cause, firstDueAt: T0 }, T0),
    ],
  ]
  for (const [name, take] of takers)
    race(`a delivery ends, or its lease is ${name}`, async ({ storage, atOnce }) => {
      const email = await leased(storage)
      const [{ lost }] = await atOnce(deliver(email), (at) => take(email, at))
      const state = lost.length === 0 ? 'delivered' : 'waiting'
      expect(await deliveriesOf(storage, email)).toMatchObject([{ state }])
      const waits = await storage.listQueue({ emailId: email.id, limit: 9 }, T0)
      expect(waits.items).toHaveLength(lost.length)
      await storage.dropQueue({ emailId: email.id }, T0 + DAY)
    })

  race('a hold during an attempt is kept', async ({ storage, atOnce }) => {
    const email = await leased(storage)
    const changes = [change(idsOf(email)[0]!, 'waiting', null, T0 + MINUTE)]
    await atOnce(
      (at) => at.settle({ owner: 'one', attempt: null, changes }, T0),
      (at) => at.holdQueue({ emailId: email.id }, T0),
    )
    expect(await deliveriesOf(storage, email)).toMatchObject([{ state: 'held' }])
    await storage.dropQueue({ emailId: email.id }, T0 + DAY)
  })

  race('records a complaint once', async ({ storage, atOnce }) => {
    const email = await leased(storage)
    const [deliveryId] = idsOf(email) as [string]
    const about = { teamId: email.teamId, emailId: email.id, deliveryId, reason: 'A report.', suppress: true }
    const complain = (at: Storage) => at.complain(about, T0)
    expect(sorted(await atOnce(complain, complain))).toEqual(['known', 'recorded'])
    expect(await eventsOf(storage, email)).toEqual(['email.complained', 'email.sent'])
    await storage.dropQueue({ emailId: email.id }, T0 + DAY)
  })

  race('counts two concurrent opens, and one of them as unique', async ({ storage, atOnce }) => {
    const { teamId, id: emailId } = await leased(storage)
    const open = (at: Storage) =>
      at.recordHit({ id: newId(T0), teamId, emailId, deliveryId: null, type: 'email.opened', data: {} }, T0)
    await atOnce(open, open)
    const sums = await storage.sumMetrics({ teamId, ranges: [{ start: T0, end: T0 + DAY }] }, T0)
    const counted = new Map(sums.map(({ counter, n }) => [counter, n]))
    expect([counted.get('opened'), counted.get('unique_opened')]).toEqual([2, 1])
    await storage.dropQueue({ emailId }, T0 + DAY)
  })
}

function reportRaces(race: Racing): void {
  race('creates a report once', async ({ storage, atOnce }) => {
    const email = await owing(storage)
    const make = (at: Storage) => at.putReport({ ...about(email), report: reportOn(email) }, T0)
    expect(sorted(await atOnce(make, make))).toEqual(['false', 'true'])
    expect(await madeFor(storage, email)).toBe(1)
  })

  race('either creates or drops a report', async ({ storage, atOnce }) => {
    const email = await owing(storage)
    const [made] = await atOnce(
      (at) => at.putReport({ ...about(email), report: reportOn(email) }, T0),
      (at) => at.dropReports(about(email), T0),
    )
    expect(await madeFor(storage, email)).toBe(made ? 1 : 0)
  })

  const about = (email: NewEmail) => ({
    kind: 'failed' as const,
    emailId: email.id,
    deliveryIds: idsOf(email),
  })
  const reportOn = (email: NewEmail): NewEmail =>
    newEmail(email.teamId, ['app@example.com'], T0, { via: 'report', returnPath: '' })
  /** Stores a failed email with a due report. */
  const owing = async (storage: Storage): Promise<NewEmail> => {
    const { team } = await makeTeam(storage)
    const email = await putEmail(storage, team.id, ['a@x.example'], T0, { reportTo: 'app@example.com' })
    await storage.dropQueue({ emailId: email.id }, T0)
    expect(await dueFor(storage, email)).toBe(1)
    return email
  }
  const dueFor = async (storage: Storage, { id }: NewEmail): Promise<number> =>
    (await storage.dueReports({ limit: 1000 }, T0)).filter(({ emailId }) => emailId === id).length
  /** Returns the number of reports that are queued; none is due any more. */
  const madeFor = async (storage: Storage, email: NewEmail): Promise<number> => {
    expect(await dueFor(storage, email)).toBe(0)
    const { count } = await storage.dropQueue({ teamId: email.teamId }, T0)
    return count
  }
}
