import { expect, test } from 'vitest'
import { NOBODY, refused, taken, type Suite } from './suite.ts'

/** Tests contacts.*, segments.*, audiences.*, topics.* and contactProperties.* */
export function audiencePart(suite: () => Suite): void {
  contactTests(suite)
  memberTests(suite)
  legacyTests(suite)
  listTests(suite)
}

function contactTests(suite: () => Suite): void {
  test('contacts: creates, reads by ID and address, lists, updates and removes', async () => {
    const { contacts, contactProperties } = suite().client
    await taken(contactProperties.create({ key: 'plan', type: 'string', fallbackValue: 'free' }))
    await taken(contactProperties.create({ key: 'orders', type: 'number' }))
    const email = 'ada+news@customer.test'
    const properties = { plan: 'pro', orders: 3 }
    const made = await taken(contacts.create({ email, firstName: 'Ada', unsubscribed: false, properties }))
    expect(made.object).toBe('contact')
    const { id } = made
    const read = await taken(contacts.get(id))
    expect(read).toMatchObject({
      object: 'contact',
      id,
      email,
      first_name: 'Ada',
      last_name: null,
      unsubscribed: false,
      properties: { plan: { type: 'string', value: 'pro' }, orders: { type: 'number', value: 3 } },
    })
    expect(await taken(contacts.get({ email }))).toEqual(read)
    expect((await taken(contacts.list())).data.map((one) => one.id)).toContain(id)
    const change = { lastName: 'Lovelace', firstName: null, properties: { plan: null, orders: 4 } }
    expect(await taken(contacts.update({ email, ...change }))).toEqual({ object: 'contact', id })
    expect(await taken(contacts.get(id))).toMatchObject({
      first_name: null,
      last_name: 'Lovelace',
      properties: { orders: { type: 'number', value: 4 } },
    })
    expect(await taken(contacts.remove({ email }))).toEqual({
      object: 'contact',
      id,
      contact: id,
      deleted: true,
    })
    expect(await refused(contacts.get(id))).toMatchObject({ statusCode: 404, message: 'Contact not found' })
    expect(await refused(contacts.remove(id))).toMatchObject({ statusCode: 404 })
  })

  test('contacts: creating a known address updates its contact, which stays opted out until updated', async () => {
    const { contacts } = suite().client
    const email = 'bob@customer.test'
    const { id } = await taken(contacts.create({ email, unsubscribed: true }))
    const again = await taken(
      contacts.create({ email: 'Bob@customer.test', unsubscribed: false, lastName: 'B' }),
    )
    expect(again.id).toBe(id)
    expect(await taken(contacts.get(id))).toMatchObject({ unsubscribed: true, last_name: 'B' })
    await taken(contacts.update({ id, unsubscribed: false }))
    expect(await taken(contacts.get(id))).toMatchObject({ unsubscribed: false })
  })

  test('contacts: rejects invalid contacts and stores none of them', async () => {
    const { contacts } = suite().client
    expect(await refused(contacts.create({} as { email: string }))).toMatchObject({
      statusCode: 422,
      name: 'missing_required_field',
      message: 'Missing `email` field.',
    })
    const create = (more: object) => refused(contacts.create({ email: 'half@customer.test', ...more }))
    expect(await create({ properties: { nope: 'x' } })).toMatchObject({ statusCode: 422 })
    expect(await create({ properties: { orders: 'three' } })).toMatchObject({ statusCode: 422 })
    expect(await create({ segments: [{ id: NOBODY }] })).toMatchObject({
      statusCode: 404,
      message: 'Audience not found',
    })
    expect(await create({ segments: [{ id: 'x' }] })).toMatchObject({
      statusCode: 422,
      message: 'The `segments[0].id` must be a valid UUID.',
    })
    expect(await create({ topics: [{ id: NOBODY, subscription: 'opt_in' }] })).toMatchObject({
      statusCode: 404,
      message: 'Topic not found',
    })
    expect(await refused(contacts.get({ email: 'half@customer.test' }))).toMatchObject({ statusCode: 404 })
  })
}

function memberTests(suite: () => Suite): void {
  test('contacts.segments and contacts.topics: add, list, update and remove', async () => {
    const { contacts, segments, topics } = suite().client
    const vip = await taken(segments.create({ name: 'VIP' }))
    const early = await taken(segments.create({ name: 'Early' }))
    const news = await taken(topics.create({ name: 'News', defaultSubscription: 'opt_in' }))
    const offers = await taken(topics.create({ name: 'Offers', defaultSubscription: 'opt_out' }))
    const email = 'grace@customer.test'
    const { id } = await taken(
      contacts.create({
        email,
        segments: [{ id: vip.id }],
        topics: [{ id: offers.id, subscription: 'opt_in' }],
      }),
    )
    const segmentId = early.id
    expect(await taken(contacts.segments.add({ email, segmentId }))).toEqual({
      object: 'contact_segment',
      id: segmentId,
      contact_id: id,
      segment_id: segmentId,
    })
    const listed = await taken(contacts.segments.list({ contactId: id }))
    expect(listed.data.map(({ name }) => name)).toEqual(['Early', 'VIP'])
    expect((await taken(contacts.list({ segmentId: vip.id }))).data.map((one) => one.id)).toEqual([id])
    expect(await taken(contacts.segments.remove({ contactId: id, segmentId }))).toMatchObject({
      id: segmentId,
      deleted: true,
    })
    expect((await taken(contacts.segments.list({ email }))).data).toHaveLength(1)
    expect(await refused(contacts.segments.add({ email, segmentId: NOBODY }))).toMatchObject({
      statusCode: 404,
      message: 'Audience not found',
    })

    const choices = async () =>
      Object.fromEntries(
        (await taken(contacts.topics.list({ email }))).data.map((one) => [one.name, one.subscription]),
      )
    expect(await choices()).toMatchObject({ News: 'opt_in', Offers: 'opt_in' })
    const choice = [{ id: news.id, subscription: 'opt_out' as const }]
    expect(await taken(contacts.topics.update({ id, topics: choice }))).toEqual({
      object: 'contact_topics',
      id,
      contact_id: id,
      topics: choice,
    })
    expect(await choices()).toMatchObject({ News: 'opt_out', Offers: 'opt_in' })
  })
}

function legacyTests(suite: () => Suite): void {
  test('manages contacts through an audience ID, as older clients do', async () => {
    const { contacts, segments } = suite().client
    const { id: audienceId } = await taken(segments.create({ name: 'Old' }))
    const email = 'legacy@customer.test'
    const { id } = await taken(contacts.create({ audienceId, email, firstName: 'Old' }))
    expect((await taken(contacts.list({ audienceId }))).data).toMatchObject([{ id, email }])
    expect(await taken(contacts.get({ audienceId, email }))).toMatchObject({ id, first_name: 'Old' })
    expect(await taken(contacts.update({ audienceId, id, firstName: 'New' }))).toEqual({
      object: 'contact',
      id,
    })
    expect(await refused(contacts.get({ audienceId: NOBODY, id }))).toMatchObject({ statusCode: 404 })
    expect(await taken(contacts.remove({ audienceId, email }))).toMatchObject({
      contact: email,
      deleted: true,
    })
    expect(await taken(contacts.remove({ audienceId, id }))).toMatchObject({ contact: id, deleted: true })
    expect(await refused(contacts.get(id))).toMatchObject({ statusCode: 404 })
  })

  test('audiences: creates, reads, lists and removes a segment through the older endpoints', async () => {
    const { appliance } = suite()
    const call = (method: string, path: string, body?: unknown) =>
      fetch(`${appliance.url}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${appliance.apiKey}`,
          'user-agent': 'resend-node:4.0.0',
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }).then((response) => response.json() as Promise<{ id: string; data: { id: string }[] }>)
    const made = await call('POST', '/audiences', { name: 'Readers' })
    const { id } = made
    expect(made).toEqual({ object: 'audience', id, name: 'Readers' })
    expect(await call('GET', `/audiences/${id}`)).toMatchObject({ object: 'audience', id, name: 'Readers' })
    expect((await call('GET', '/audiences')).data.map((one) => one.id)).toContain(id)
    const contacts = `/audiences/${id}/contacts`
    const contact = await call('POST', contacts, { email: 'reader@customer.test' })
    expect((await call('GET', contacts)).data.map((one) => one.id)).toEqual([contact.id])
    expect(await call('DELETE', `/audiences/${id}`)).toEqual({ object: 'audience', id, deleted: true })
    expect(await call('DELETE', `/audiences/${id}`)).toEqual({ object: 'audience', id, deleted: true })
  })
}

function listTests(suite: () => Suite): void {
  test('segments: creates, lists, reads, renames and removes', async () => {
    const { segments } = suite().client
    const made = await taken(segments.create({ name: 'Everybody' }))
    const { id } = made
    expect(made).toEqual({ object: 'segment', id, name: 'Everybody' })
    expect(await taken(segments.get(id))).toMatchObject({ object: 'segment', id, name: 'Everybody' })
    expect((await taken(segments.list({ limit: 1 }))).data).toMatchObject([{ id }])
    expect(await taken(segments.update(id, { name: 'All' }))).toEqual({ object: 'segment', id })
    expect((await taken(segments.list())).data.find((one) => one.id === id)).toMatchObject({ name: 'All' })
    expect(await taken(segments.remove(id))).toEqual({ object: 'segment', id, deleted: true })
    expect(await refused(segments.get(id))).toMatchObject({ statusCode: 404, message: 'Audience not found' })
    expect(await taken(segments.remove(NOBODY))).toMatchObject({ deleted: true })
    expect(await refused(segments.create({} as { name: string }))).toMatchObject({
      statusCode: 422,
      name: 'missing_required_field',
      message: 'Missing `name` field.',
    })
  })

  test('topics: creates, lists, reads, updates and removes', async () => {
    const { topics } = suite().client
    const description = 'Once a month'
    const { id } = await taken(topics.create({ name: 'Letter', description, defaultSubscription: 'opt_out' }))
    expect(await taken(topics.get(id))).toMatchObject({
      object: 'topic',
      id,
      name: 'Letter',
      description,
      default_subscription: 'opt_out',
      visibility: 'private',
    })
    expect((await taken(topics.list())).data.map((one) => one.id)).toContain(id)
    expect(await taken(topics.update({ id, name: 'Digest' }))).toEqual({ object: 'topic', id })
    expect(await taken(topics.get(id))).toMatchObject({ name: 'Digest', description })
    expect(await taken(topics.remove(id))).toEqual({ object: 'topic', id, deleted: true })
    expect(await refused(topics.get(id))).toMatchObject({ statusCode: 404, message: 'Topic not found' })
    const long = { name: 'x'.repeat(51), defaultSubscription: 'opt_in' } as const
    expect(await refused(topics.create(long))).toMatchObject({ statusCode: 422, name: 'validation_error' })
  })

  test('contactProperties: creates, lists, reads, updates and removes', async () => {
    const { contactProperties } = suite().client
    const made = await taken(
      contactProperties.create({ key: 'city', type: 'string', fallbackValue: 'Paris' }),
    )
    const { id } = made
    expect(made).toEqual({ object: 'contact_property', id })
    expect(await taken(contactProperties.get(id))).toMatchObject({
      id,
      key: 'city',
      type: 'string',
      fallbackValue: 'Paris',
    })
    expect((await taken(contactProperties.list())).data.map((one) => one.id)).toContain(id)
    expect(await taken(contactProperties.update({ id, fallbackValue: 'Rome' }))).toMatchObject({ id })
    expect(await taken(contactProperties.get(id))).toMatchObject({ fallbackValue: 'Rome' })
    expect(await refused(contactProperties.update({ id, fallbackValue: 7 }))).toMatchObject({
      statusCode: 422,
    })
    expect(await refused(contactProperties.create({ key: 'city', type: 'number' }))).toMatchObject({
      statusCode: 409,
      name: 'validation_error',
    })
    const reserved = { key: 'FIRST_NAME', type: 'string' } as const
    expect(await refused(contactProperties.create(reserved))).toMatchObject({ statusCode: 422 })
    expect(await taken(contactProperties.remove(id))).toMatchObject({ id, deleted: true })
    expect(await refused(contactProperties.get(id))).toMatchObject({
      statusCode: 404,
      message: 'Contact property not found',
    })
  })
}
