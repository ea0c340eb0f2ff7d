import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { errorText, startApi, type Api } from './harness.ts'

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

const call = async (method: string, path: string, body?: unknown) => {
  const { status, json } = await api.call(method, path, body)
  return { status, json: json as Record<string, unknown> & { id: string; data: Record<string, unknown>[] } }
}
const make = async (path: string, body: unknown): Promise<string> => {
  const { status, json } = await call('POST', path, body)
  expect([status, json]).toEqual([201, json])
  return json.id
}
const refusal = async (method: string, path: string, body: unknown) => {
  const { status, json } = await call(method, path, body)
  return [status, json.message]
}

describe('how clients refer to a contact and its fields', () => {
  test('paths accept an ID or an address, encoded or not, with a trailing slash', async () => {
    const id = await make('/contacts', { email: 'ada+x@Customer.example' })
    for (const name of [id, id.toUpperCase(), 'ada+x@customer.example', 'ADA%2Bx%40customer.example'])
      expect((await call('GET', `/contacts/${name}`)).json).toMatchObject({
        id,
        email: 'ada+x@customer.example',
      })
    expect((await call('GET', `/contacts/${id}/segments/`)).json).toEqual({
      object: 'list',
      has_more: false,
      data: [],
    })
    expect(await refusal('GET', '/contacts/nobody', undefined)).toEqual([404, 'Contact not found'])
  })

  test('segments may be IDs or objects, an audience is a segment, names may be camelCase, and null is unset', async () => {
    const [one, two, three] = await Promise.all(['1', '2', '3'].map((name) => make('/segments', { name })))
    const nothing = { first_name: null, last_name: null, unsubscribed: null, properties: null, topics: null }
    const id = await make('/contacts', {
      email: 'many@customer.example',
      ...nothing,
      segments: [one, { id: two }],
      audience_id: three,
    })
    const segments = (await call('GET', `/contacts/${id}/segments`)).json.data
    expect(segments.map(({ name }) => name)).toEqual(['3', '2', '1'])
    await call('PATCH', `/contacts/${id}`, { firstName: 'Ada', properties: [] })
    expect((await call('GET', `/contacts/${id}`)).json).toMatchObject({ first_name: 'Ada', properties: {} })
  })

  test('topic subscriptions may be a list or an object, in any case', async () => {
    const topic = await make('/topics', {
      name: 'News',
      defaultSubscription: 'OPT_OUT',
      visibility: 'Public',
    })
    const id = await make('/contacts', { email: 'topics@customer.example' })
    const got = async () => (await call('GET', `/contacts/${id}/topics`)).json.data[0]!
    expect(await got()).toMatchObject({ id: topic, subscription: 'opt_out', chosen_at: null })
    const topics = [{ id: topic, subscription: 'opt_in' }]
    expect((await call('PATCH', `/contacts/${id}/topics`, topics)).json).toEqual({
      object: 'contact_topics',
      id,
      contact_id: id,
      topics,
    })
    expect(await got()).toMatchObject({ subscription: 'opt_in', chosen_by: 'api' })
    await call('PATCH', `/contacts/${id}/topics`, { topics: [{ id: topic, subscription: 'opt_out' }] })
    expect(await got()).toMatchObject({ subscription: 'opt_out' })
    expect((await call('PATCH', `/contacts/${id}/topics`, [])).status).toBe(200)
    expect(await refusal('PATCH', `/contacts/${id}/topics`, { topics: 'x' })).toEqual([
      422,
      'Invalid `topics` field: it must be an array of objects.',
    ])
    expect(await refusal('PATCH', `/contacts/${id}/topics`, [{ id: topic, subscription: 'maybe' }])).toEqual([
      422,
      'Invalid `0.subscription` field: it must be "opt_in" or "opt_out".',
    ])
  })
})

describe('invalid contacts, properties, segments and topics', () => {
  test.each([
    [{ email: '' }, 'Missing `email` field.'],
    [{ email: 'Ada <ada@x.example>' }, 'Invalid `email` field: an email address such as `ada@example.com`.'],
    [
      { email: 'a@x.example', first_name: 'A\r\nBcc: x' },
      'Invalid `first_name` field: at most 250 characters',
    ],
    [
      { email: 'a@x.example', last_name: 'x'.repeat(251) },
      'Invalid `last_name` field: at most 250 characters',
    ],
    [
      { email: 'a@x.example', properties: { __proto__x: 1 } },
      'Invalid `properties.__proto__x` field: a property',
    ],
    [
      { email: 'a@x.example', properties: { constructor: 1 } },
      'Invalid `properties.constructor` field: a property',
    ],
    [{ email: 'a@x.example', properties: 'x' }, 'Invalid `properties` field: it must be an object.'],
    [{ email: 'a@x.example', unsubscribed: 'yes' }, 'Invalid `unsubscribed` field: it must be a boolean.'],
  ])('rejects a contact with %j', async (body, message) => {
    const [status, text] = await refusal('POST', '/contacts', body)
    expect(status).toBe(422)
    expect(text).toContain(message)
    expect(await refusal('GET', '/contacts/a@x.example', undefined)).toEqual([404, 'Contact not found'])
  })

  test('rejects a change to the address of another contact', async () => {
    await make('/contacts', { email: 'taken@customer.example' })
    const id = await make('/contacts', { email: 'moving@customer.example' })
    const { status, text } = await api.call('PATCH', `/contacts/${id}`, { email: 'Taken@customer.example' })
    const message = 'Another contact already has this email address.'
    expect([status, text]).toEqual([409, errorText(409, 'validation_error', message)])
    expect((await call('PATCH', `/contacts/${id}`, { email: 'moved@customer.example' })).status).toBe(200)
    expect((await call('GET', '/contacts/moved@customer.example')).json).toMatchObject({ id })
  })

  test.each([
    ['/contact-properties', { key: '', type: 'string' }, 'Missing `key` field.'],
    ['/contact-properties', { key: 'a-b', type: 'string' }, 'Invalid `key` field: 1 to 50 ASCII letters'],
    ['/contact-properties', { key: 'this', type: 'string' }, 'Invalid `key` field: none of FIRST_NAME'],
    [
      '/contact-properties',
      { key: 'a', type: 'boolean' },
      'Invalid `type` field: it must be "string" or "number".',
    ],
    [
      '/contact-properties',
      { key: 'a', type: 'number', fallbackValue: 'x' },
      'Invalid `fallback_value` field',
    ],
    [
      '/contact-properties',
      { key: 'a', type: 'string', fallback_value: 1 },
      'Invalid `fallback_value` field',
    ],
    ['/segments', { name: ' ' }, 'Missing `name` field.'],
    ['/segments', { name: 'x'.repeat(256) }, 'Invalid `name` field: at most 255 characters'],
    ['/segments', { name: 'x', filter: { and: [] } }, 'Invalid `filter.type` field'],
    ['/audiences', { name: 'x', filter: { and: [] } }, 'Invalid `filter.type` field'],
    ['/topics', { name: 'x' }, 'Missing `default_subscription` field.'],
    [
      '/topics',
      { name: 'x', default_subscription: 'opt_in', description: 'x'.repeat(201) },
      'Invalid `description`',
    ],
  ])('rejects POST %s with %j', async (path, body, message) => {
    const [status, text] = await refusal('POST', path, body)
    expect(status).toBe(422)
    expect(text).toContain(message)
  })
})

test('a contact who opted out remains unsubscribed when created again, and the consent log shows why', async () => {
  const id = await make('/contacts', { email: 'out@customer.example', unsubscribed: true })
  expect((await call('DELETE', `/contacts/${id}`)).json).toEqual({
    object: 'contact',
    id,
    contact: id,
    deleted: true,
  })
  const again = await make('/contacts', { email: 'OUT@customer.example', unsubscribed: false })
  expect((await call('GET', `/contacts/${again}`)).json).toMatchObject({
    unsubscribed: true,
    unsubscribed_by: 'api',
  })
  await call('PATCH', `/contacts/${again}`, { unsubscribed: false })
  expect((await call('GET', `/contacts/${again}`)).json).toMatchObject({
    unsubscribed: false,
    unsubscribed_by: null,
    unsubscribed_at: null,
    last_opened_at: null,
    last_clicked_at: null,
  })
  expect((await call('GET', `/contacts/${again}/consents`)).json.data).toMatchObject([
    { topic_id: null, was: 'opt_out', subscription: 'opt_in', origin: 'api', via: 'api' },
    { topic_id: null, was: null, subscription: 'opt_out', origin: 'api', via: 'api' },
  ])
})

test('a contact is deleted when it is removed from its last audience', async () => {
  const [one, two] = [await make('/audiences', { name: 'One' }), await make('/audiences', { name: 'Two' })]
  const email = 'older@customer.example'
  const id = await make(`/audiences/${one}/contacts`, { email })
  expect(await make(`/audiences/${two}/contacts`, { email })).toBe(id)
  expect((await call('DELETE', `/audiences/${one}/contacts/${email}`)).json).toMatchObject({ contact: email })
  expect((await call('GET', `/audiences/${one}/contacts/${id}`)).status).toBe(404)
  expect((await call('GET', `/audiences/${two}/contacts/${id}`)).json).toMatchObject({ id })
  await call('DELETE', `/audiences/${two}/contacts/${id}`)
  expect((await call('GET', `/contacts/${id}`)).status).toBe(404)
  expect((await call('POST', `/audiences/${id}/contacts`, { email })).status).toBe(404)
})

test('contacts can be listed, searched and counted by segment and subscription', async () => {
  const segment = await make('/segments', { name: 'Searched' })
  const made: string[] = []
  for (const name of ['Zoe', 'Zora', 'Max'])
    made.unshift(
      await make('/contacts', {
        email: `${name}@search.example`,
        first_name: name,
        segments: [segment],
        unsubscribed: name === 'Zora',
      }),
    )
  const ids = async (path: string) => (await call('GET', path)).json.data.map(({ id }) => id)
  expect(await ids(`/segments/${segment}/contacts`)).toEqual(made)
  expect(await ids(`/contacts?segment_id=${segment}&limit=1&after=${made[0]}`)).toEqual([made[1]])
  expect(await ids(`/contacts?segment_id=${segment}&unsubscribed=true`)).toEqual([made[1]])
  expect(await ids(`/contacts/search?text=zO&segment_id=${segment}`)).toEqual([made[1], made[2]])
  expect((await call('GET', '/contacts/search?text=max@search')).json).toMatchObject({
    object: 'list',
    has_more: false,
    next: null,
    data: [{ id: made[0] }],
  })
  expect(await ids(`/contacts/search?segment_id=${segment}&unsubscribed=false`)).toEqual([made[0], made[2]])
  expect((await call('GET', '/contacts/search?txt=a')).status).toBe(422)
  expect((await call('GET', `/segments/${segment}`)).json).toMatchObject({ contacts: 3 })
  const { contacts, subscribed, unsubscribed, days } = (await call('GET', '/contacts/counts')).json
  expect(Number(subscribed) + Number(unsubscribed)).toBe(contacts)
  const grown = days as { date: string; created: number; unsubscribed: number }[]
  expect(grown).toHaveLength(30)
  const sum = (of: 'created' | 'unsubscribed') => grown.reduce((all, day) => all + day[of], 0)
  expect([sum('created'), sum('unsubscribed')]).toEqual([contacts, unsubscribed])
  expect((await call('GET', '/segments/x/contacts')).status).toBe(422)
  expect((await call('GET', `/segments/${made[0]}/contacts`)).status).toBe(404)
})
