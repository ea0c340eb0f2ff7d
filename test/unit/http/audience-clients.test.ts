import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '../../../appliance/mail/ids.ts'
import { startApi, type Api } from './harness.ts'

/**
 * Tests requests about the audience as clients in other languages send them, and the response fields that they require
 * (reference wire §8).
 */

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

type Json = Record<string, unknown> & { id: string }

/**
 * Ruby ignores the status and treats an object without `statusCode` as success. Python, PHP and Go require a JSON
 * content type.
 */
async function taken(method: string, path: string, body?: unknown): Promise<Json> {
  const response = await fetch(`${api.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${api.full}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  expect([path, response.ok]).toEqual([path, true])
  expect(response.headers.get('content-type')).toMatch(/^application\/json/)
  const json = (await response.json()) as Json
  expect(Array.isArray(json)).toBe(false)
  expect(Object.keys(json).length).toBeGreaterThan(0)
  expect(json).not.toHaveProperty('statusCode')
  return json
}
const refused = async (method: string, path: string, body?: unknown) => {
  const { status, json } = await api.call(method, path, body)
  return [status, json]
}
/** Rust and .NET require both fields of a list. */
const LIST = { object: 'list', has_more: false }
const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/
const time = expect.stringMatching(/^\d{4}-\d\d-\d\d/) as string

test('accepts nested contacts of an audience as Python, Go, Ruby and Rust send them', async () => {
  const made = await taken('POST', '/audiences', { name: 'Readers' })
  expect(made).toEqual({ object: 'audience', id: expect.stringMatching(UUID) as string, name: 'Readers' })
  const base = `/audiences/${made.id}/contacts`
  // Go sends the audience in the body as well. Python sends unset fields as null.
  const contact = { audience_id: made.id, email: 'ada@clients.example', first_name: 'Ada', last_name: null }
  const { id, object } = await taken('POST', base, contact)
  expect([object, id]).toEqual(['contact', expect.stringMatching(UUID)])
  const summary = { id, email: contact.email, first_name: 'Ada', last_name: null, unsubscribed: false }
  // Some versions of Python and Ruby send an empty body with GET and DELETE. PHP and Ruby differ in trailing slashes.
  expect(await taken('GET', base)).toEqual({ ...LIST, data: [{ ...summary, created_at: time }] })
  expect(await taken('GET', `${base}/${id}`)).toMatchObject({
    object: 'contact',
    ...summary,
    created_at: time,
  })
  expect(await taken('GET', `${base}/ada%40clients.example`)).toMatchObject({ id })
  const change = { id, audience_id: made.id, unsubscribed: true, first_name: 'Augusta' }
  expect(await taken('PATCH', `${base}/${id}`, change)).toEqual({ object: 'contact', id })
  expect(await taken('GET', `/contacts/${id}`)).toMatchObject({ unsubscribed: true, first_name: 'Augusta' })
  const gone = { object: 'contact', id, contact: id, deleted: true }
  expect(await taken('DELETE', `${base}/${id}`, '{}')).toEqual(gone)
  expect(await taken('DELETE', `/audiences/${made.id}`, '{}')).toMatchObject({ id: made.id, deleted: true })
})

test('segments and topics of a contact include all IDs that the Rust, PHP and .NET clients read', async () => {
  const segment = await taken('POST', '/segments', { name: 'VIP', audience_id: null, filter: null })
  expect(segment).toMatchObject({ object: 'segment', name: 'VIP' })
  const topic = await taken('POST', '/topics', { name: 'News', default_subscription: 'opt_in' })
  const { id } = await taken('POST', '/contacts', { email: 'bob@clients.example', properties: {} })
  const member = { object: 'contact_segment', id: segment.id, contact_id: id, segment_id: segment.id }
  expect(await taken('POST', `/contacts/${id}/segments/${segment.id}`, '{}')).toEqual(member)
  expect(await taken('GET', `/contacts/${id}/segments`)).toEqual({
    ...LIST,
    data: [{ id: segment.id, name: 'VIP', created_at: time }],
  })
  const removed = await taken('DELETE', `/contacts/${id}/segments/${segment.id}`)
  expect(removed).toEqual({ ...member, deleted: true })
  const choices = [{ id: topic.id, subscription: 'opt_out' }]
  const answer = { object: 'contact_topics', id, contact_id: id, topics: choices }
  expect(await taken('PATCH', `/contacts/${id}/topics`, choices)).toEqual(answer)
  expect(await taken('PATCH', `/contacts/${id}/topics`, { topics: choices })).toEqual(answer)
  expect(await taken('GET', `/contacts/${id}/topics`)).toMatchObject({
    ...LIST,
    data: [{ id: topic.id, name: 'News', description: null, subscription: 'opt_out', created_at: time }],
  })
  expect(await taken('GET', `/topics/${topic.id}`)).toMatchObject({
    object: 'topic',
    visibility: 'private',
    default_subscription: 'opt_in',
    created_at: time,
  })
  const property = { key: 'plan', type: 'string', fallback_value: 'free' }
  const made = await taken('POST', '/contact-properties', property)
  expect(await taken('GET', `/contact-properties/${made.id}`)).toMatchObject({
    ...property,
    created_at: time,
    used_in: [],
  })
  expect(await taken('GET', '/contact-properties?limit=1')).toMatchObject({ ...LIST, data: [property] })
})

test('errors have a status, a message and a name that all clients recognize', async () => {
  const gone = (message: string) => [404, { statusCode: 404, message, name: 'not_found' }]
  const nobody = newId(0)
  expect(await refused('GET', `/contacts/${nobody}`)).toEqual(gone('Contact not found'))
  expect(await refused('GET', `/segments/${nobody}`)).toEqual(gone('Audience not found'))
  expect(await refused('GET', `/audiences/${nobody}`)).toEqual(gone('Audience not found'))
  expect(await refused('GET', `/topics/${nobody}`)).toEqual(gone('Topic not found'))
  expect(await refused('GET', `/contact-properties/${nobody}`)).toEqual(gone('Contact property not found'))
  const missing = [
    422,
    { statusCode: 422, message: 'Missing `email` field.', name: 'missing_required_field' },
  ]
  expect(await refused('POST', '/contacts', {})).toEqual(missing)
})
