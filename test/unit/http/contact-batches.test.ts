import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
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
const refusal = async (path: string, body: unknown) => {
  const { status, json } = await call('POST', path, body)
  return [status, json.message]
}
const contact = async (id: string) => (await call('GET', `/contacts/${id}`)).json
let round = 0
let at: (name: string) => string
beforeEach(() => {
  round += 1
  const domain = `r${round}.example`
  at = (name) => `${name}@${domain}`
})

describe('looking addresses up', () => {
  test('a batch check returns a verdict for each address, in order', async () => {
    const known = await make('/contacts', { email: at('known') })
    const out = await make('/contacts', { email: at('out'), unsubscribed: true })
    await make('/contacts', { email: at('gone'), unsubscribed: true })
    await call('DELETE', `/contacts/${at('gone')}`)
    await make('/suppressions', { email: at('bounced') })
    const emails = ['fresh', 'KNOWN', 'out', 'gone', 'bounced'].map((name) => at(name))
    const { json } = await call('POST', '/contacts/batch/check', { emails: [...emails, 'no address'] })
    expect(json.data.map((one) => [one.contact_id, one.verdict])).toEqual([
      [null, 'new'],
      [known, 'known'],
      [out, 'unsubscribed'],
      [null, 'unsubscribed'],
      [null, 'suppressed'],
      [null, 'invalid'],
    ])
  })

  test('a batch check rejects an empty list, and more than 500 addresses', async () => {
    expect((await refusal('/contacts/batch/check', { emails: [] }))[0]).toBe(422)
    const many = Array.from({ length: 501 }, (_, i) => at(`n${i}`))
    expect((await refusal('/contacts/batch/check', { emails: many }))[0]).toBe(422)
  })
})

describe('adding contacts', () => {
  test('adding contacts creates new ones, adds all to segments, and lifts no opt-out', async () => {
    const segment = await make('/segments', { name: 'News' })
    const out = await make('/contacts', { email: at('out'), unsubscribed: true })
    const body = { emails: [at('out'), at('new')], segment_ids: [segment] }
    expect((await call('POST', '/contacts/batch/add', body)).json).toEqual({
      object: 'contacts_added',
      created: 1,
      known: 1,
    })
    expect(await contact(out)).toMatchObject({ unsubscribed: true })
    expect((await call('GET', `/segments/${segment}`)).json).toMatchObject({ contacts: 2 })
  })

  test('adds no contacts if one address is invalid', async () => {
    expect(await refusal('/contacts/batch/add', { emails: [at('fine'), 'nobody'] })).toEqual([
      422,
      'Invalid `emails[1]` field: an email address such as `ada@example.com`.',
    ])
    expect((await call('GET', `/contacts/${at('fine')}`)).status).toBe(404)
  })
})

describe('changing contacts', () => {
  const search = async (query: string) => (await call('GET', `/contacts/search?${query}`)).json

  test('adds selected contacts to a segment, and removes them', async () => {
    const segment = await make('/segments', { name: 'News' })
    const ids = await Promise.all(['a', 'b'].map((name) => make('/contacts', { email: at(name) })))
    const change = { ids, action: 'add_to_segment', segment_id: segment }
    const changed = { object: 'contacts_changed', contacts: 2, next: null }
    expect((await call('POST', '/contacts/batch/change', change)).json).toEqual(changed)
    const found = await search(`segment_id=${segment}`)
    expect(found.data.map((one) => one.segments)).toEqual(ids.map(() => [{ id: segment, name: 'News' }]))
    await call('POST', '/contacts/batch/change', { ...change, action: 'remove_from_segment' })
    expect((await search(`segment_id=${segment}`)).data).toEqual([])
  })

  test('counts, opts in and unsubscribes contacts that match a filter, and lifts no opt-out of a topic', async () => {
    const topic = await make('/topics', { name: 'News', default_subscription: 'opt_out' })
    const ids = await Promise.all(['x1', 'x2', 'y'].map((name) => make('/contacts', { email: at(name) })))
    await call('PATCH', `/contacts/${ids[0]}/topics`, [{ id: topic, subscription: 'opt_out' }])
    const filter = { text: at('') }
    const counted = await call('POST', '/contacts/batch/count', { filter })
    expect(counted.json.contacts).toBe(3)
    expect((counted.json.sample as string[]).sort()).toEqual(['x1', 'x2', 'y'].map((name) => at(name)).sort())
    await call('POST', '/contacts/batch/change', { filter, action: 'opt_in', topic_id: topic })
    const chosen = async (subscription: string) =>
      (await search(`topic_id=${topic}&subscription=${subscription}`)).data.map(({ id }) => id).sort()
    expect(await chosen('opt_in')).toEqual(ids.slice(1).sort())
    expect(await chosen('opt_out')).toEqual([ids[0]])
    const out = await call('POST', '/contacts/batch/change', { filter, action: 'unsubscribe' })
    expect(out.json).toMatchObject({ contacts: 3, next: null })
    expect(await contact(ids[2]!)).toMatchObject({ unsubscribed: true, unsubscribed_by: 'api' })
  })

  test('changes contacts in steps of 500, each contact once', async () => {
    const emails = Array.from({ length: 501 }, (_, i) => at(`n${i}`))
    for (const some of [emails.slice(0, 500), emails.slice(500)])
      await call('POST', '/contacts/batch/add', { emails: some })
    const body = { filter: { text: `@r${round}.example` }, action: 'delete' }
    const first = (await call('POST', '/contacts/batch/change', body)).json
    expect(first.contacts).toBe(500)
    const rest = (await call('POST', '/contacts/batch/change', { ...body, after: first.next })).json
    expect(rest).toMatchObject({ contacts: 1, next: null })
    expect((await search(`text=${encodeURIComponent(`@r${round}.example`)}`)).data).toEqual([])
  })

  test.each([
    [{ action: 'delete' }, 'Missing `ids` field.'],
    [{ action: 'opt_out', filter: {} }, 'Missing `topic_id` field.'],
    [{ action: 'add_to_segment', filter: {} }, 'Missing `segment_id` field.'],
    [
      { action: 'delete', ids: ['x'], filter: {} },
      'Invalid `ids` field: either `ids` or `filter`, not both.',
    ],
    [{ action: 'delete', ids: ['x'] }, 'The `ids[0].id` must be a valid UUID.'],
    [{ action: 'opt_in', filter: {}, topic_id: 'x' }, 'The `topic_id` must be a valid UUID.'],
  ])('rejects the change %j', async (body, message) => {
    expect(await refusal('/contacts/batch/change', body)).toEqual([422, message])
  })

  test('rejects an unknown segment and an unknown topic', async () => {
    const id = '0198aaaa-0000-7000-8000-000000000000'
    const none = { filter: { segment_id: id }, action: 'delete' }
    expect(await refusal('/contacts/batch/change', none)).toEqual([404, 'Audience not found'])
    const ids = [await make('/contacts', { email: at('one') })]
    const topic = { ids, action: 'opt_in', topic_id: id }
    expect(await refusal('/contacts/batch/change', topic)).toEqual([404, 'Topic not found'])
  })
})

test('a contact search shows opt-out, suppression and segments of each contact', async () => {
  await make('/contacts', { email: at('row'), unsubscribed: true })
  await make('/suppressions', { email: at('row') })
  const { json } = await call('GET', `/contacts/search?text=${encodeURIComponent(at('row'))}`)
  expect(json.data).toMatchObject([
    { email: at('row'), unsubscribed_by: 'api', suppressed: true, segments: [] },
  ])
})
