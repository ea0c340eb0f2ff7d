import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { QueueChange } from '../../../appliance/api/queue-changes.ts'
import { sessionOf } from '../../world/signed-in.ts'
import { leaseArgs } from '../../contract/fixtures.ts'
import { ask, errorText, hello, owner, startApi, type Api } from './harness.ts'

let api: Api
/** A second team on the same appliance. */
let foreign: { teamId: string; key: string }

beforeAll(async () => {
  api = await startApi()
  const teamId = '01990000-0000-7000-8000-00000000000a'
  const now = api.clock.now()
  const user = { id: teamId, email: 'other@other.example', passwordHash: '', provenAt: null, createdAt: now }
  await api.storage.createOwner({ team: { id: teamId, name: 'Other', createdAt: now }, user }, now)
  await api.senders.addDomain({ teamId, name: 'other.example' })
  const domain = (await api.senders.findDomain({ teamId, name: 'other.example' }))!
  await api.storage.saveDomainCheck({ teamId, id: domain.id, status: 'verified', checks: [] }, now)
  const { token } = await api.senders.createKey({ teamId, name: 'other', permission: 'full_access' })
  foreign = { teamId, key: token }
})
beforeEach(async () => {
  await api.storage.dropQueue({}, api.clock.now())
})
afterAll(() => api?.close())

const send = async (to: string, more: object = {}): Promise<string> =>
  ((await api.call('POST', '/emails', { ...hello, to: [to], ...more })).json as { id: string }).id

const asForeign = (method: string, path: string, body?: unknown) =>
  ask(api.url + path, method, body, { authorization: `Bearer ${foreign.key}` })

const sendForeign = (to: string) =>
  asForeign('POST', '/emails', { ...hello, from: 'hi@other.example', to: [to] })

interface Listed {
  has_more: boolean
  data: { id: string; recipient: string; state: string; waiting: { why: string } | null }[]
}
const listed = async (query = ''): Promise<string[]> =>
  ((await api.call('GET', `/queue${query}`)).json as Listed).data.map(({ recipient }) => recipient)
const act = async (action: string, body: object = {}) =>
  (await api.call('POST', `/queue/${action}`, body)).json as QueueChange

describe('reading the queue', () => {
  test('lists deliveries oldest first, in pages, each with the reason it waits', async () => {
    for (const name of ['a', 'b', 'c']) await send(`${name}@x.example`)
    const first = (await api.call('GET', '/queue?limit=2')).json as Listed
    expect(first.has_more).toBe(true)
    expect(first.data.map(({ recipient }) => recipient)).toEqual(['a@x.example', 'b@x.example'])
    expect(first.data[0]!.waiting?.why).toBe('next in line')
    const second = (await api.call('GET', `/queue?limit=2&after=${first.data[1]!.id}`)).json as Listed
    expect(second).toMatchObject({ has_more: false, data: [{ recipient: 'c@x.example' }] })
  })

  test('filters by domain, provider, tag, email, age, state and pool', async () => {
    await send('a@x.example', { tags: [{ name: 'kind', value: 'news' }] })
    const id = await send('b@y.example')
    expect(await listed('?domain=X.EXAMPLE')).toEqual(['a@x.example'])
    expect(await listed('?provider=%3Fy.example')).toEqual(['b@y.example'])
    expect(await listed('?tag=kind%3Dnews')).toEqual(['a@x.example'])
    expect(await listed(`?email_id=${id}`)).toEqual(['b@y.example'])
    expect(await listed('?older_than=1m')).toEqual([])
    expect(await listed('?newer_than=1m&state=waiting&pool=default')).toEqual(['a@x.example', 'b@y.example'])
  })

  test.each([
    ['?domian=x.example', 'domian', 'unknown condition; expected one of domain, provider, '],
    ['?domain=a..b', 'domain', 'it must be a domain such as example.com'],
    ['?older_than=soon', 'older_than', 'it must be a duration such as 90m, 2h or 3d'],
    ['?state=gone', 'state', 'it must be one of waiting, held'],
    ['?category=x', 'category', 'it must be one of recipient, '],
    ['?email_id=7', 'email_id', 'it must be a UUID'],
    ['?tag=a%20b', 'tag', 'it must be a tag as name or name=value'],
    ['?team_id=x', 'team_id', 'it must be a UUID, or all'],
    ['?domain=a.example&domain=b.example', 'domain', 'it must be a single string of at most 500 characters'],
  ])('rejects an invalid filter with an error that names it: %s', async (query, field, expected) => {
    const { status, json } = await api.call('GET', `/queue${query}`)
    expect(status).toBe(422)
    expect((json as { message: string }).message).toContain(`Invalid \`${field}\` field: ${expected}`)
  })

  test('shows a queued delivery, but not one of another team or a final one', async () => {
    await sendForeign('a@x.example')
    const { data } = (await asForeign('GET', '/queue')).json as Listed
    const id = data[0]!.id
    expect((await asForeign('GET', `/queue/${id}`)).json).toMatchObject({ id, waiting: { until: null } })
    await send('b@x.example')
    const own = ((await api.call('GET', '/queue')).json as Listed).data[0]!.id
    expect((await asForeign('GET', `/queue/${own}`)).status).toBe(404)
    await api.storage.dropQueue({}, api.clock.now())
    expect((await api.call('GET', `/queue/${own}`)).text).toBe(
      errorText(404, 'not_found', 'Queued delivery not found'),
    )
  })

  test('the summary counts by state, provider and age', async () => {
    await send('a@x.example')
    await send('b@y.example')
    await act('hold', { filter: { domain: 'y.example' } })
    expect((await api.call('GET', '/queue/summary')).json).toMatchObject({
      object: 'queue_summary',
      count: 2,
      waiting: 1,
      held: 1,
      in_flight: 0,
      providers: [
        { provider: '?x.example', waiting: 1, held: 0 },
        { provider: '?y.example', waiting: 0, held: 1 },
      ],
      ages: [
        { from_minutes: 0, to_minutes: 15, count: 2 },
        {},
        {},
        {},
        { from_minutes: 1440, to_minutes: null },
      ],
    })
  })
})

interface Lanes {
  data: { id: string; count: number; state: string; why: string | null; [more: string]: unknown }[]
}

describe('the queue by pool and provider', () => {
  const lanes = async (query = '') => ((await api.call('GET', `/queue/lanes${query}`)).json as Lanes).data
  const counted = async (query = '') =>
    ((await api.call('GET', `/queue/summary${query}`)).json as { count: number }).count

  test('counts every delivery in exactly one row', async () => {
    const scheduled_at = new Date(api.clock.now() + 86_400_000).toISOString()
    await send('a@x.example')
    await send('b@y.example', { scheduled_at })
    await send('c@z.example', { scheduled_at })
    await act('hold', { filter: { domain: 'z.example' } })
    await api.storage.rerouteQueue({ domain: 'y.example', to: 'warm' }, api.clock.now())
    const rows = await lanes()
    expect(rows.sort((a, b) => (a.id < b.id ? -1 : 1))).toMatchObject([
      { id: 'default/?x.example', count: 1, due: 1, state: 'unresolved', why: null, lanes: [] },
      { id: 'default/?z.example', count: 1, held: 1, state: 'held', why: 'Held by an operator' },
      {
        id: 'warm/?y.example',
        count: 1,
        due: 0,
        later: 1,
        held: 0,
        in_flight: 0,
        state: 'scheduled',
        why: 'Scheduled by the sender',
        next_at: expect.any(String) as string,
        provider_name: 'y.example',
      },
    ])
    for (const query of ['', '?state=held', '?domain=y.example', '?team_id=all', '?provider=%3F'])
      expect([query, (await lanes(query)).reduce((sum, { count }) => sum + count, 0)]).toEqual([
        query,
        await counted(query),
      ])
    expect(await lanes('?state=held')).toMatchObject([
      { id: 'default/?z.example', count: 1, held: 1, state: 'held' },
    ])
    await api.storage.lease(leaseArgs({ leaseUntil: api.clock.now() + 60_000 }), api.clock.now())
    expect(await lanes('?domain=x.example')).toMatchObject([
      { count: 1, in_flight: 1, due: 0, state: 'sending' },
    ])
    const cause = { phase: 'queue' as const, host: null, ip: null, reply: null, note: 'Interrupted.' }
    await api.storage.voidLeases({ owners: ['one'], cause, firstDueAt: api.clock.now() }, api.clock.now())
  })

  test('shows another team only its own rows, and no lanes', async () => {
    await send('a@x.example')
    await sendForeign('b@x.example')
    const foreign = (await asForeign('GET', '/queue/lanes')).json as Lanes
    expect(foreign.data).toMatchObject([{ id: 'default/?x.example', count: 1, lanes: [] }])
    expect((await asForeign('GET', '/queue/lanes?team_id=all')).status).toBe(403)
    expect(await lanes('?team_id=all')).toMatchObject([{ id: 'default/?x.example', count: 2 }])
  })

  test('several deliveries can be selected by ID, up to 200', async () => {
    for (const name of ['a', 'b', 'c']) await send(`${name}@x.example`)
    const { data } = (await api.call('GET', '/queue')).json as Listed
    const id = [data[0]!.id, data[2]!.id.toUpperCase()].join(',')
    expect(await act('hold', { filter: { id }, expected_count: 2 })).toMatchObject({ count: 2 })
    expect(await listed('?state=held')).toEqual(['a@x.example', 'c@x.example'])
    const many = Array.from({ length: 201 }, () => data[0]!.id).join(',')
    const refused = await api.call('POST', '/queue/preview', { action: 'hold', filter: { id: many } })
    expect(refused).toMatchObject({ status: 422 })
    expect(refused.text).toContain('up to 200 comma-separated UUIDs')
  })
})

describe('changing the queue', () => {
  test('an action can be previewed, executed, audited, and undone by its audit entry', async () => {
    await send('a@x.example')
    await send('b@y.example')
    const filter = { domain: 'x.example' }
    const preview = await api.call('POST', '/queue/preview', { action: 'hold', filter })
    expect(preview.json).toMatchObject({
      object: 'queue_preview',
      action: 'hold',
      count: 1,
      domains: [{ domain: 'x.example', count: 1 }],
      sample: [{ recipient: 'a@x.example', state: 'waiting' }],
    })
    const held = await act('hold', { filter, expected_count: 1 })
    expect(held).toMatchObject({ object: 'queue_change', action: 'hold', count: 1, rule: null })
    expect(await listed('?state=held')).toEqual(['a@x.example'])
    const audit = (await api.call('GET', '/audit?limit=1')).json as { data: object[] }
    expect(audit.data[0]).toMatchObject({
      id: held.audit_id,
      actor_kind: 'api_key',
      ip: '127.0.0.1',
      action: 'queue.hold',
      target: 'queue',
      details: { filter: { team_id: api.teamId, domain: 'x.example' } },
      after: { count: 1 },
    })
    expect(await act('undo', { audit_id: held.audit_id })).toMatchObject({ action: 'release', count: 1 })
    expect(await listed('?state=held')).toEqual([])
  })

  test('the audit log shows the email address of the person who changed the queue', async () => {
    const { token } = sessionOf(await api.accounts.signIn({ ...owner, ip: null, userAgent: null }))
    const cookie = { cookie: `posthaste_session=${token}`, 'x-requested-with': 'dashboard' }
    const headers = { ...cookie, 'sec-fetch-site': 'same-origin' }
    expect((await ask(`${api.url}/queue/retry`, 'POST', {}, headers)).status).toBe(200)
    const { json } = await api.call('GET', '/audit?limit=1')
    expect(json).toMatchObject({ data: [{ actor: owner.email, actor_kind: 'user', action: 'queue.retry' }] })
  })

  test('retry wakes dispatch, and expire and drop remove the matching deliveries', async () => {
    for (const name of ['a', 'b', 'c']) await send(`${name}@${name}.example`)
    const before = api.woken
    expect((await act('retry')).count).toBe(3)
    expect(api.woken).toBe(before + 1)
    expect((await act('expire', { filter: { domain: 'a.example' } })).count).toBe(1)
    expect((await act('drop', { filter: { domain: 'b.example' } })).count).toBe(1)
    expect(await listed()).toEqual(['c@c.example'])
  })

  test.each(['drop', 'expire'])('%s without a condition requires `all`', async (action) => {
    await send('a@x.example')
    const { status, json } = await api.call('POST', `/queue/${action}`, { filter: {} })
    expect(status).toBe(422)
    expect((json as { message: string }).message).toMatch(/^Invalid `filter` field: it has no condition/)
    expect((await act(action, { all: true })).count).toBe(1)
  })

  test('an action changes nothing if more deliveries match than expected', async () => {
    await send('a@x.example')
    await send('b@x.example')
    const body = { filter: { domain: 'x.example' }, expected_count: 1 }
    expect((await api.call('POST', '/queue/drop', body)).text).toBe(
      errorText(
        409,
        'validation_error',
        'Nothing was changed: 2 deliveries match now, but 1 were expected. Preview the change again.',
      ),
    )
    expect(await listed()).toHaveLength(2)
  })

  test('reroute requires a pool with a sending IP, and can be undone', async () => {
    await send('a@x.example')
    expect((await api.call('POST', '/queue/reroute', {})).text).toBe(
      errorText(422, 'missing_required_field', 'Missing `pool` field.'),
    )
    expect((await api.call('POST', '/queue/reroute', { pool: 'warm' })).text).toContain(
      'it must be a pool with a sending IP',
    )
    await api.call('POST', '/sources', { ip: '127.0.0.1', pool: 'warm' })
    const moved = await act('reroute', { pool: 'warm' })
    expect(moved.count).toBe(1)
    expect(await listed('?pool=warm')).toEqual(['a@x.example'])
    expect((await act('undo', { audit_id: moved.audit_id })).count).toBe(1)
    expect(await listed('?pool=warm')).toEqual([])
  })

  test("a drop can't be undone", async () => {
    const { audit_id } = await act('drop', { all: true })
    expect((await api.call('POST', '/queue/undo', { audit_id })).text).toBe(
      errorText(
        409,
        'validation_error',
        'This cannot be undone: only hold, release and reroute can be undone, not queue.drop.',
      ),
    )
  })

  test('a hold of new mail applies until it is undone', async () => {
    await send('a@x.example')
    const held = await act('hold', { filter: { domain: 'x.example' }, new: true })
    expect(held).toMatchObject({ count: 1, rule: { id: held.audit_id, domain: 'x.example', provider: null } })
    await send('b@x.example')
    expect(await listed('?state=held')).toEqual(['a@x.example', 'b@x.example'])
    expect((await api.call('GET', '/queue/holds')).json).toMatchObject({ data: [{ id: held.audit_id }] })
    expect(await act('undo', { audit_id: held.audit_id })).toMatchObject({
      count: 2,
      rule: { id: held.audit_id },
    })
    expect((await api.call('GET', '/queue/holds')).json).toMatchObject({ data: [] })
    await send('c@x.example')
    expect(await listed('?state=held')).toEqual([])
  })

  test('a hold of new mail rejects conditions other than domain, provider, team and tag', async () => {
    const { json } = await api.call('POST', '/queue/hold', { new: true, filter: { older_than: '1h' } })
    expect(json).toMatchObject({
      message: 'Invalid `filter` field: new mail can be held only by domain, provider, team and tag.',
    })
  })
})

describe('queue permissions', () => {
  test('a team sees and changes only its own mail, and the operator can select all teams', async () => {
    await send('own@x.example')
    await sendForeign('foreign@x.example')
    expect(await listed()).toEqual(['own@x.example'])
    expect((await act('hold')).count).toBe(1)
    expect(await listed('?team_id=all')).toEqual(['own@x.example', 'foreign@x.example'])
    expect(await listed(`?team_id=${foreign.teamId}`)).toEqual(['foreign@x.example'])
    for (const team of ['all', api.teamId]) {
      const refused = await asForeign('POST', '/queue/release', { filter: { team_id: team } })
      expect(refused.status).toBe(403)
    }
    expect((await asForeign('POST', '/queue/release', {})).json).toMatchObject({ count: 0 })
    expect(await listed('?state=held')).toEqual(['own@x.example'])
  })

  test('a team cannot release mail that the operator holds', async () => {
    await sendForeign('foreign@x.example')
    const held = await act('hold', { filter: { team_id: foreign.teamId } })
    expect(held.count).toBe(1)
    expect((await asForeign('POST', '/queue/release', {})).json).toMatchObject({ count: 0 })
    expect((await asForeign('POST', '/queue/undo', { audit_id: held.audit_id })).status).toBe(404)
    expect((await asForeign('GET', '/audit')).text).not.toContain(held.audit_id)
    expect((await act('release', { filter: { team_id: foreign.teamId } })).count).toBe(1)
  })

  test('actions of a team and of the operator are audited only in their own logs', async () => {
    const own = (await asForeign('POST', '/queue/hold', {})).json as QueueChange
    const mine = await act('hold')
    const [theirs, all] = [(await asForeign('GET', '/audit')).text, (await api.call('GET', '/audit')).text]
    expect([theirs.includes(own.audit_id), theirs.includes(mine.audit_id)]).toEqual([true, false])
    expect([all.includes(own.audit_id), all.includes(mine.audit_id)]).toEqual([false, true])
  })

  test('other teams cannot reroute mail, and sending keys are rejected', async () => {
    expect((await asForeign('POST', '/queue/reroute', { pool: 'default' })).status).toBe(403)
    for (const path of ['/queue', '/queue/summary', '/audit']) {
      const answer = await ask(api.url + path, 'GET', undefined, { authorization: `Bearer ${api.sending}` })
      expect(answer.status).toBe(401)
    }
  })
})
