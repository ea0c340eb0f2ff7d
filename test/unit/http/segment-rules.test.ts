import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Source } from '../../../appliance/mail/source.ts'
import { startApi, type Api } from './harness.ts'

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

type Json = Record<string, unknown> & { id: string; data: Record<string, unknown>[]; message: string }
const call = async (method: string, path: string, body?: unknown) => {
  const { status, json } = await api.call(method, path, body)
  return { status, json: json as Json }
}
const make = async (path: string, body: unknown): Promise<string> => (await call('POST', path, body)).json.id
const rule = (field: string, operator: string, value?: unknown) => ({
  type: 'rule',
  field: `contact.${field}`,
  operator,
  ...(value !== undefined && { value }),
})

test('a segment with rules contains the matching contacts everywhere, and cannot be edited by hand', async () => {
  await call('POST', '/contact-properties', { key: 'plan', type: 'string' })
  const ada = await make('/contacts', { email: 'ada@example.com', properties: { plan: 'pro' } })
  const bob = await make('/contacts', { email: 'bob@example.com', properties: { plan: 'free' } })
  const filter = rule('properties.plan', 'eq', 'pro')
  const { status, json: made } = await call('POST', '/segments', { name: 'Pro', filter })
  expect([status, made]).toEqual([201, { object: 'segment', id: made.id, name: 'Pro' }])
  const got = (await call('GET', `/segments/${made.id}`)).json
  expect(got).toMatchObject({ filter, contacts: 1, counted_at: got.counted_at })
  expect(typeof got.counted_at).toBe('string')
  expect((await call('GET', '/segments')).json.data).toMatchObject([{ id: made.id, contacts: 1, filter }])
  const ids = async (path: string) => (await call('GET', path)).json.data.map(({ id }) => id)
  expect(await ids(`/segments/${made.id}/contacts`)).toEqual([ada])
  expect(await ids(`/audiences/${made.id}/contacts`)).toEqual([ada])
  expect(await ids(`/contacts?segment_id=${made.id}`)).toEqual([ada])
  expect(await ids(`/contacts/search?segment_id=${made.id}`)).toEqual([ada])
  expect(await ids(`/contacts/${ada}/segments`)).toEqual([made.id])
  expect(await ids(`/contacts/${bob}/segments`)).toEqual([])
  expect((await call('GET', `/audiences/${made.id}/contacts/${ada}`)).status).toBe(200)
  expect((await call('GET', `/audiences/${made.id}/contacts/${bob}`)).status).toBe(404)
  const csv = await api.call('GET', `/contacts/export.csv?segment_id=${made.id}`)
  expect(csv.text.split('\r\n').filter((line) => line.includes('@'))).toHaveLength(1)
  const count = { filter: { segment_id: made.id } }
  expect((await call('POST', '/contacts/batch/count', count)).json).toMatchObject({ contacts: 1 })

  const said =
    'The rules of this segment decide which contacts are in it. Contacts cannot be added or removed by hand.'
  for (const [method, path, body] of [
    ['POST', `/contacts/${bob}/segments/${made.id}`, undefined],
    ['DELETE', `/contacts/${ada}/segments/${made.id}`, undefined],
    ['POST', '/contacts', { email: 'new@example.com', segments: [{ id: made.id }] }],
    ['POST', `/audiences/${made.id}/contacts`, { email: 'new@example.com' }],
    ['POST', '/contacts/batch/add', { emails: ['new@example.com'], segment_ids: [made.id] }],
    ['POST', '/contacts/batch/change', { ids: [bob], action: 'add_to_segment', segment_id: made.id }],
  ] as const) {
    const refused = await call(method, path, body)
    expect([path, refused.status, refused.json.message]).toEqual([path, 422, said])
  }
  expect((await call('GET', '/contacts/new@example.com')).status).toBe(404)
  expect((await call('PATCH', `/contacts/${bob}`, { properties: { plan: 'Pro' } })).status).toBe(200)
  expect(await ids(`/segments/${made.id}/contacts`)).toEqual([bob, ada])
  expect(await ids(`/segments/${made.id}/contacts?limit=1`)).toEqual([bob])
  expect(await ids(`/segments/${made.id}/contacts?limit=1&after=${bob}`)).toEqual([ada])
  expect(await ids(`/segments/${made.id}/contacts?before=${ada}`)).toEqual([bob])
})

test('counts contacts by rules without a segment, and rejects invalid rules with the path of the error', async () => {
  const topic = await make('/topics', { name: 'News', default_subscription: 'opt_in' })
  const count = async (rules: unknown) => call('POST', '/contacts/batch/count', { filter: { rules } })
  const both = {
    type: 'and',
    rules: [rule('email', 'contains', 'example'), rule(`topics.${topic}`, 'eq', 'opt_in')],
  }
  expect((await count(both)).json).toMatchObject({
    contacts: 2,
    sample: ['bob@example.com', 'ada@example.com'],
  })
  const ruled = await make('/segments', { name: 'Rules', filter: both })
  for (const [wrong, field] of [
    [rule('properties.none', 'eq', 'x'), 'filter.field'],
    [rule('properties.plan', 'gt', 3), 'filter.operator'],
    [rule(`topics.${ruled}`, 'eq', 'opt_in'), 'filter.field'],
    [rule(`segments.${ruled}`, 'eq', true), 'filter.field'],
    [{ type: 'or', rules: [both, rule('shoe', 'exists')] }, 'filter.rules[1].field'],
  ] as const) {
    const refused = await count(wrong)
    expect([refused.status, refused.json.message]).toEqual([422, expect.stringContaining(`\`${field}\``)])
    const made = await call('POST', '/segments', { name: 'Wrong', filter: wrong })
    expect(made.status).toBe(422)
  }
})

test('contacts can be searched by rules, and invalid rules are rejected', async () => {
  const search = async (rules: string) =>
    (await api.call('GET', `/contacts/search?rules=${encodeURIComponent(rules)}`)) as {
      status: number
      json: { data: { email: string }[]; message: string }
    }
  const eve = JSON.stringify(rule('email', 'starts_with', 'rules-'))
  await call('POST', '/contacts', { email: 'rules-eve@example.com' })
  expect((await search(eve)).json.data).toMatchObject([{ email: 'rules-eve@example.com' }])
  expect((await search(JSON.stringify(rule('created_at', 'lt', '5 days ago')))).json.data).toEqual([])
  expect((await search('{')).json.message).toBe('Invalid `rules`: JSON of at most 4000 characters.')
  expect((await search(JSON.stringify(rule('shoe', 'exists')))).status).toBe(422)
  await call('DELETE', '/contacts/rules-eve@example.com')
})

test('the rules of a segment can be changed, but not added to a segment without rules', async () => {
  const plain = await make('/segments', { name: 'Plain' })
  const ruled = await make('/segments', { name: 'Ruled', filter: rule('unsubscribed', 'eq', true) })
  const patch = (id: string, body: unknown) => call('PATCH', `/segments/${id}`, body)
  expect((await call('GET', `/segments/${ruled}`)).json.contacts).toBe(0)
  const filter = rule('unsubscribed', 'eq', false)
  expect((await patch(ruled, { filter })).status).toBe(200)
  expect((await call('GET', `/segments/${ruled}`)).json).toMatchObject({ name: 'Ruled', filter, contacts: 2 })
  expect((await patch(ruled, { name: 'Renamed', filter: null })).status).toBe(200)
  expect((await call('GET', `/segments/${ruled}`)).json).toMatchObject({ name: 'Renamed', filter })
  expect((await patch(plain, { filter })).json.message).toBe(
    'Invalid `filter` field: a segment keeps its kind: with rules, or without.',
  )
  expect((await call('GET', `/segments/${plain}`)).json).toMatchObject({ filter: null, counted_at: null })
})

test('suppressed contacts can be counted and searched', async () => {
  await call('POST', '/suppressions', { email: 'ada@example.com' })
  await call('POST', '/suppressions', { email: 'nobody@example.com' })
  expect((await call('GET', '/contacts/counts')).json).toMatchObject({ contacts: 2, suppressed: 1 })
  const found = (await call('GET', '/contacts/search?suppressed=true')).json.data
  expect(found).toMatchObject([{ email: 'ada@example.com', suppressed: true }])
  expect((await call('GET', '/contacts/search?suppressed=maybe')).status).toBe(422)
})

test('a segment shows its size by day, and its mailbox providers with a forecast', async () => {
  const id = await make('/segments', { name: 'Forecast' })
  const source: Source = {
    ip: '192.0.2.1',
    pool: 'default',
    hostname: null,
    state: 'active',
    stateReason: null,
    suspendedBy: null,
    warmUpSince: null,
    origin: 'operator',
    health: null,
    checkedAt: null,
  }
  await api.storage.addSource({ source, nodeId: 'here' }, api.clock.now())
  await api.storage.place({ domain: 'mail.forecast.example', provider: 'google' }, api.clock.now())
  const email = (n: number) => `reader${n}@${n < 3 ? 'mail' : 'other'}.forecast.example`
  for (const n of [0, 1, 2, 3]) await make('/contacts', { email: email(n), segments: [id] })
  await call('PATCH', `/contacts/${email(0)}`, { unsubscribed: true })
  expect((await call('GET', `/segments/${id}/providers`)).json).toMatchObject({
    object: 'segment_providers',
    contacts: 4,
    eligible: 3,
    estimated: false,
    providers: [
      { provider: 'google', contacts: 2, hours: expect.any(Number) as number },
      { provider: '', contacts: 1, hours: null },
    ],
  })
  const sizes = async () => {
    const { json } = await call('GET', `/segments/${id}/days`)
    return (json.days as { contacts: number | null }[]).map(({ contacts }) => contacts)
  }
  const unknown = Array.from({ length: 29 }, () => null)
  expect(await sizes()).toEqual([...unknown, 4])
  await api.storage.recordSegmentDays({ before: '2000-01-01' }, api.clock.now())
  await api.clock.advance(86_400_000)
  await make('/contacts', { email: email(5), segments: [id] })
  expect(await sizes()).toEqual([...unknown.slice(1), 4, 5])
  for (const path of ['providers', 'days'])
    expect((await call('GET', `/segments/0198aaaa-0000-7000-8000-000000000000/${path}`)).status).toBe(404)
})
