import { expect, test } from 'vitest'
import type { NewAuditEntry } from '../../appliance/mail/audit.ts'
import { newId } from '../../appliance/mail/ids.ts'
import type { HoldRule, QueueFilter, Storage } from '../../appliance/storage/storage.ts'
import { cause, change, DAY, leaseArgs, makeTeam, MINUTE, newAttempt, putEmail, T0 } from './fixtures.ts'

const HOUR = 60 * MINUTE

const recipients = async (storage: Storage, filter: QueueFilter = {}): Promise<string[]> =>
  (await storage.listQueue({ ...filter, limit: 100 }, T0 + HOUR)).items.map(({ recipient }) => recipient)

const entry = (teamId: string | null, more: Partial<NewAuditEntry> = {}): NewAuditEntry => ({
  id: newId(T0),
  teamId,
  at: T0,
  actor: 'ada@example.com',
  actorKind: 'user',
  actorName: null,
  ip: '192.0.2.7',
  action: 'queue.hold',
  target: 'queue',
  targetName: null,
  before: null,
  after: null,
  details: { filter: { domain: 'x.example' } },
  ...more,
})

const rule = (more: Partial<HoldRule> = {}): HoldRule => ({
  id: newId(T0),
  teamId: null,
  domain: null,
  provider: null,
  tag: null,
  createdAt: T0,
  ...more,
})

/**
 * Stores two emails, an hour apart. The first, to x, was deferred once. The second, to y, is of another team and pool
 * and was never attempted.
 */
async function fill(storage: Storage) {
  const { team } = await makeTeam(storage)
  const tried = await putEmail(storage, team.id, ['a@x.example'], T0, {
    tags: [{ name: 'kind', value: 'receipt' }],
  })
  await storage.lease(leaseArgs(), T0)
  const [delivery] = tried.deliveries
  const attempt = newAttempt(tried, [delivery!.id])
  const why = { ...cause('The server Limits us.'), category: 'quota' as const }
  const changes = [{ ...change(delivery!.id, 'waiting', null, T0 + 2 * HOUR), cause: why }]
  const transcript = { ...attempt.transcript, source: '198.51.100.1' }
  await storage.settle({ owner: 'one', attempt: { ...attempt, transcript }, changes }, T0)
  const fresh = await putEmail(storage, team.id, ['b@y.example'], T0 + HOUR, {
    tags: [{ name: 'kind', value: 'Receipt' }],
    pool: 'warm',
    stream: 'broadcast',
  })
  return { team, tried, fresh }
}

export function queueControlContract(storage: () => Storage): void {
  test.each<[string, QueueFilter, string[]]>([
    ['provider', { provider: '?x.example' }, ['a@x.example']],
    ['a provider without mail', { provider: 'google' }, []],
    ['pool', { pool: 'warm' }, ['b@y.example']],
    ['stream', { stream: 'broadcast' }, ['b@y.example']],
    ['name of a tag', { tag: { name: 'kind', value: null } }, ['a@x.example', 'b@y.example']],
    ['tag and value, case-sensitive', { tag: { name: 'kind', value: 'receipt' } }, ['a@x.example']],
    ['part of a tag name, which does not match', { tag: { name: 'kin', value: null } }, []],
    ['age above', { createdBefore: T0 + 1 }, ['a@x.example']],
    ['age below', { createdFrom: T0 + HOUR }, ['b@y.example']],
    ['words of the reply, in any case', { reply: '451 4.7.1 LATER' }, ['a@x.example']],
    ['words of the note, in any case', { reply: 'server limits' }, ['a@x.example']],
    ['words of property names, which do not match', { reply: 'enhanced' }, []],
    ['words with a wildcard, taken literally', { reply: 'l%r' }, []],
    ['category', { category: 'quota' }, ['a@x.example']],
    ['other category', { category: 'policy' }, []],
    ['source of the last attempt', { source: '198.51.100.1' }, ['a@x.example']],
    ['other source', { source: '198.51.100.2' }, []],
    ['unknown provider', { provider: '?' }, ['a@x.example', 'b@y.example']],
    ['two conditions', { pool: 'warm', createdBefore: T0 + 1 }, []],
  ])('filters the queue by %s', async (_name, filter, expected) => {
    await fill(storage())
    expect(await recipients(storage(), filter)).toEqual(expected)
  })

  test('filters by the source of the last attempt, not of an earlier one', async () => {
    const { tried } = await fill(storage())
    await storage().lease(leaseArgs({ leaseUntil: T0 + DAY }), T0 + 3 * HOUR)
    const attempt = newAttempt(tried, [tried.deliveries[0]!.id])
    const transcript = { ...attempt.transcript, source: '198.51.100.2' }
    const changes = [change(tried.deliveries[0]!.id, 'waiting', null, T0 + 4 * HOUR)]
    await storage().settle({ owner: 'one', attempt: { ...attempt, transcript }, changes }, T0)
    expect(await recipients(storage(), { source: '198.51.100.1' })).toEqual([])
    expect(await recipients(storage(), { source: '198.51.100.2' })).toEqual(['a@x.example'])
  })

  test('a survey counts deliveries by provider, domain, state and age, in steps of any size', async () => {
    const { team, tried, fresh } = await fill(storage())
    await storage().holdQueue({ pool: 'warm' }, T0)
    const x = { teamId: team.id, pool: 'default', provider: '?x.example', domain: 'x.example' }
    const y = { teamId: team.id, pool: 'warm', provider: '?y.example', domain: 'y.example' }
    const ids = [tried, fresh].map(({ deliveries }) => deliveries[0]!.id)
    const expected = [
      {
        attempted: 1,
        ...x,
        state: 'waiting',
        band: 2,
        later: 1,
        nextAt: T0 + 2 * HOUR,
        sampleId: ids[0],
        count: 1,
        oldestAt: T0,
        newestAt: T0,
        oldestBegunAt: T0,
      },
      {
        attempted: 0,
        ...y,
        state: 'held',
        band: 0,
        later: 0,
        nextAt: null,
        sampleId: ids[1],
        count: 1,
        oldestAt: T0 + HOUR,
        newestAt: T0 + HOUR,
        oldestBegunAt: T0 + HOUR,
      },
    ]
    expect(await storage().surveyQueue({}, T0 + HOUR)).toEqual({ groups: expected, next: null })
    const first = await storage().surveyQueue({ limit: 1 }, T0 + HOUR)
    expect(first.groups).toEqual(expected.slice(0, 1))
    const second = await storage().surveyQueue({ limit: 1, after: first.next! }, T0 + HOUR)
    expect(second.groups).toEqual(expected.slice(1))
    expect(await storage().surveyQueue({ limit: 1, after: second.next! }, T0 + HOUR)).toEqual({
      groups: [],
      next: null,
    })
  })

  test.each([
    ['hold', ['b@y.example']],
    ['release', ['a@x.example']],
    ['retry', ['b@y.example']],
    ['drop', ['a@x.example', 'b@y.example']],
    ['expire', ['a@x.example', 'b@y.example']],
  ] as const)('finds the deliveries that %s would change', async (action, expected) => {
    await fill(storage())
    await storage().holdQueue({ domain: 'x.example' }, T0)
    expect(await recipients(storage(), { touch: { action } })).toEqual(expected)
  })

  test('rerouted mail leaves from the other pool, and can be moved back', async () => {
    const { tried } = await fill(storage())
    const by = newId(T0)
    const touch = { action: 'reroute' as const, pool: 'warm' }
    expect(await recipients(storage(), { touch })).toEqual(['a@x.example'])
    expect(await storage().rerouteQueue({ to: 'warm', by }, T0)).toEqual({ count: 1, next: null })
    const room = { 'default/?x.example': 0, 'warm/?x.example': 1 }
    const leased = await storage().lease(
      leaseArgs({ room, roomElse: 0, leaseUntil: T0 + 3 * HOUR + 1 }),
      T0 + 3 * HOUR,
    )
    expect(leased.map(({ id, pool }) => [id, pool])).toEqual([[tried.deliveries[0]!.id, 'warm']])
    const back = await storage().rerouteQueue({ to: null, touchedBy: by }, T0 + 4 * HOUR)
    expect(back).toEqual({ count: 1, next: null })
    const { items } = await storage().listQueue({ limit: 10 }, T0)
    expect(items.map(({ pool }) => pool)).toEqual(['default', 'warm'])
  })

  test('held mail that is rerouted can still belong to the change that held it', async () => {
    await fill(storage())
    const [hold, move] = [newId(T0), newId(T0)]
    await storage().holdQueue({ domain: 'x.example', by: hold }, T0)
    expect(
      (await storage().rerouteQueue({ to: 'warm', by: move, keepHolder: true }, T0)).count,
    ).toBeGreaterThan(0)
    expect(await recipients(storage(), { touchedBy: move, state: 'held' })).toEqual([])
    expect((await storage().releaseQueue({ touchedBy: hold }, T0)).count).toBeGreaterThan(0)
    expect(await recipients(storage(), { state: 'held', domain: 'x.example' })).toEqual([])
  })

  test('finds the deliveries last changed by an audit entry, and no others', async () => {
    await fill(storage())
    const [first, second] = [newId(T0), newId(T0)]
    await storage().holdQueue({ domain: 'x.example', by: first }, T0)
    await storage().holdQueue({ by: second }, T0)
    expect(await recipients(storage(), { touchedBy: first })).toEqual(['a@x.example'])
    expect(await recipients(storage(), { touchedBy: second })).toEqual(['b@y.example'])
    await storage().releaseQueue({ touchedBy: second }, T0)
    expect(await recipients(storage(), { state: 'held' })).toEqual(['a@x.example'])
    expect(await recipients(storage(), { touchedBy: second })).toEqual([])
  })

  test('a release can exclude mail held for the whole server', async () => {
    const { team } = await fill(storage())
    const [own, operators] = [entry(team.id), entry(null)]
    for (const one of [own, operators]) await storage().appendAudit({ entry: one }, T0)
    await storage().holdQueue({ domain: 'x.example', by: own.id }, T0)
    await storage().holdQueue({ domain: 'y.example', by: operators.id }, T0)
    expect(await storage().releaseQueue({ notOfOperator: true }, T0)).toEqual({ count: 1, next: null })
    expect(await recipients(storage(), { state: 'held' })).toEqual(['b@y.example'])
  })

  test('expired mail bounces with the result of the last attempt, or says that there was no attempt', async () => {
    const { team, tried, fresh } = await fill(storage())
    expect(await storage().expireQueue({}, T0 + HOUR)).toEqual({ count: 2, next: null })
    const [one, other] = await Promise.all(
      [tried, fresh].map(({ id }) => storage().getHistory({ teamId: team.id, id }, T0)),
    )
    const note = 'Expired by an operator. Last attempt: The server Limits us.'
    expect(one!.deliveries).toMatchObject([
      { state: 'expired', attempts: 1, cause: { category: 'quota', note } },
    ])
    expect(one!.events.at(-1)).toMatchObject({
      type: 'email.bounced',
      data: {
        recipient: 'a@x.example',
        bounce: {
          type: 'Transient',
          subType: 'General',
          message: note,
          diagnosticCode: ['smtp; 451 4.7.1 later'],
          category: 'quota',
        },
      },
    })
    const untried = 'Given up by an operator before any attempt.'
    expect(other!.deliveries).toMatchObject([{ state: 'expired', attempts: 0, cause: { note: untried } }])
    expect(other!.events.at(-1)).toMatchObject({
      data: { bounce: { diagnosticCode: [`x-posthaste; ${untried}`] } },
    })
    expect((await storage().getEmail({ teamId: team.id, id: tried.id }, T0))?.lastEvent).toBe('bounced')
  })

  test('queues a report for expired mail if the sender requested it', async () => {
    const { team } = await makeTeam(storage())
    const email = await putEmail(storage(), team.id, ['a@x.example'], T0, {
      reportTo: 'sender@example.com',
      dsn: { ret: null, envid: null },
    })
    await storage().expireQueue({ emailId: email.id }, T0)
    const due = (await storage().dueReports({ limit: 100 }, T0)).filter(({ emailId }) => emailId === email.id)
    expect(due).toMatchObject([{ kind: 'failed', deliveries: [{ state: 'expired' }] }])
  })

  test.each<[string, Partial<HoldRule>, string[]]>([
    ['everything', {}, ['a@held.example', 'b@free.example']],
    ['a domain', { domain: 'held.example' }, ['a@held.example']],
    ['a provider', { provider: 'google' }, ['a@held.example']],
    ['a tag', { tag: { name: 'kind', value: 'receipt' } }, ['a@held.example', 'b@free.example']],
    ['another value of a tag', { tag: { name: 'kind', value: 'news' } }, []],
    ['a domain and another provider', { domain: 'free.example', provider: 'google' }, []],
  ])('a rule for %s holds matching new mail until it is removed', async (_name, conditions, expected) => {
    const { team } = await makeTeam(storage())
    await storage().place({ domain: 'held.example', provider: 'google' }, T0)
    const one = rule(conditions)
    expect(await storage().addHoldRule({ rule: one, most: 10 }, T0)).toBe(true)
    await putEmail(storage(), team.id, ['a@held.example', 'b@free.example'])
    expect(await recipients(storage(), { state: 'held', touchedBy: one.id })).toEqual(expected)
    expect(await recipients(storage(), { state: 'held' })).toEqual(expected)
    expect(await storage().removeHoldRule({ id: one.id }, T0)).toBe(true)
    expect(await storage().removeHoldRule({ id: one.id }, T0)).toBe(false)
    await putEmail(storage(), team.id, ['c@held.example'])
    expect(await recipients(storage(), { state: 'held' })).toEqual(expected)
  })

  test("a team's rule holds only that team's mail", async () => {
    const [{ team }, { team: other }] = [await makeTeam(storage()), await makeTeam(storage())]
    const one = rule({ teamId: team.id })
    await storage().addHoldRule({ rule: one, most: 10 }, T0)
    await putEmail(storage(), team.id, ['a@x.example'])
    await putEmail(storage(), other.id, ['b@x.example'])
    expect(await recipients(storage(), { state: 'held' })).toEqual(['a@x.example'])
    expect(await storage().listHoldRules({ teamId: team.id }, T0)).toEqual([one])
    expect(await storage().listHoldRules({ teamId: other.id }, T0)).toEqual([])
    await storage().removeHoldRule({ id: one.id }, T0)
  })

  test('holds mail to an unknown domain once its provider is known', async () => {
    const { team } = await makeTeam(storage())
    const one = rule({ provider: 'yahoo', tag: { name: 'kind', value: null } })
    await storage().addHoldRule({ rule: one, most: 10 }, T0)
    await putEmail(storage(), team.id, ['a@unknown.example'])
    await putEmail(storage(), team.id, ['b@unknown.example'], T0, { tags: [] })
    expect(await recipients(storage(), { state: 'held' })).toEqual([])
    await storage().place({ domain: 'unknown.example', provider: 'yahoo' }, T0)
    expect(await recipients(storage(), { state: 'held', touchedBy: one.id })).toEqual(['a@unknown.example'])
    await storage().removeHoldRule({ id: one.id }, T0)
  })

  test('limits the number of hold rules', async () => {
    const [first, second] = [rule(), rule()]
    expect(await storage().addHoldRule({ rule: first, most: 1 }, T0)).toBe(true)
    expect(await storage().addHoldRule({ rule: second, most: 1 }, T0)).toBe(false)
    await storage().removeHoldRule({ id: first.id }, T0)
  })

  test('the audit log stores an entry unchanged, and its result once', async () => {
    const { team } = await makeTeam(storage())
    const one = entry(team.id, { before: { held: 0 } })
    await storage().appendAudit({ entry: one }, T0)
    expect(await storage().getAudit({ id: one.id }, T0)).toEqual(one)
    expect(await storage().completeAudit({ id: one.id, after: { count: 3 } }, T0)).toBe(true)
    expect(await storage().completeAudit({ id: one.id, after: { count: 4 } }, T0)).toBe(false)
    expect(await storage().getAudit({ id: one.id, teamId: team.id }, T0)).toEqual({
      ...one,
      after: { count: 3 },
    })
    const other = await makeTeam(storage())
    expect(await storage().getAudit({ id: one.id, teamId: other.team.id }, T0)).toBeUndefined()
  })

  test('lists the audit log newest first, in pages, for a team or the whole server', async () => {
    const { team } = await makeTeam(storage())
    const entries = [entry(team.id), entry(null), entry(team.id), entry(team.id)]
    for (const one of entries) await storage().appendAudit({ entry: one }, T0)
    const ids = async (args: Parameters<Storage['listAudit']>[0]) => {
      const { items, hasMore } = await storage().listAudit(args, T0)
      return [items.map(({ id }) => entries.findIndex((one) => one.id === id)), hasMore]
    }
    expect(await ids({ teamId: team.id, limit: 2 })).toEqual([[3, 2], true])
    expect(await ids({ teamId: team.id, limit: 2, after: entries[2]!.id })).toEqual([[0], false])
    expect(await ids({ teamId: team.id, limit: 2, before: entries[0]!.id })).toEqual([[3, 2], false])
    expect(await ids({ limit: 4 })).toEqual([[3, 2, 1, 0], expect.any(Boolean)])
  })
}
