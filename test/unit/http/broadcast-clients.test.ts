import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type Api } from './harness.ts'

/**
 * Tests templates and broadcasts as clients in other languages request them, and the response fields that they require
 * (reference wire §8).
 */

let api: Api
let segment: string
beforeAll(async () => {
  api = await startApi()
  segment = (await taken('POST', '/segments', { name: 'Readers' })).id
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
  expect([path, response.ok, await response.clone().text()]).toMatchObject([path, true, /./])
  expect(response.headers.get('content-type')).toMatch(/^application\/json/)
  const json = (await response.json()) as Json
  expect(Array.isArray(json)).toBe(false)
  expect(json).not.toHaveProperty('statusCode')
  return json
}
const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/
const uuid = expect.stringMatching(UUID) as string
const time = expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/) as string
const from = 'Acme <hello@acme.example>'
const html = '<p>Hi {{{FIRST_NAME|there}}}</p><a href="{{{RESEND_UNSUBSCRIBE_URL}}}">Unsubscribe</a>'
/** Every field of a listed broadcast that Rust and .NET read. */
const summary = {
  id: uuid,
  audience_id: uuid,
  segment_id: uuid,
  created_at: time,
  scheduled_at: null,
  sent_at: null,
}

test('broadcasts: accepts the broadcast ID in the body, and `{}` as an empty body, as Python and Ruby send them', async () => {
  const draft = {
    audience_id: segment,
    from,
    subject: 'News',
    html,
    name: 'Spring',
    reply_to: 'a@acme.example',
  }
  const { id, object } = await taken('POST', '/broadcasts', draft)
  expect([object, id]).toEqual(['broadcast', uuid])
  const change = { broadcast_id: id, audience_id: segment, subject: 'Hello', reply_to: ['b@acme.example'] }
  expect(await taken('PATCH', `/broadcasts/${id}`, change)).toEqual({ object: 'broadcast', id })
  expect(await taken('GET', `/broadcasts/${id}`)).toMatchObject({
    object: 'broadcast',
    ...summary,
    audience_id: segment,
    segment_id: segment,
    topic_id: null,
    name: 'Spring',
    from,
    subject: 'Hello',
    reply_to: ['b@acme.example'],
    preview_text: null,
    html,
    text: null,
    status: 'draft',
  })
  const later = { broadcast_id: id, scheduled_at: 'in 1 hour' }
  expect(await taken('POST', `/broadcasts/${id}/send`, later)).toEqual({ object: 'broadcast', id })
  expect(await taken('GET', `/broadcasts/${id}`)).toMatchObject({ status: 'scheduled', scheduled_at: time })
  expect(await taken('POST', `/broadcasts/${id}/cancel`, '{}')).toEqual({ object: 'broadcast', id })
  const gone = { object: 'broadcast', id, deleted: true }
  expect(await taken('DELETE', `/broadcasts/${id}`, '{}')).toEqual(gone)
})

test('broadcasts: treats "" and null as unset, as Go sends them', async () => {
  const empty = { name: '', text: '', preview_text: '', topic_id: '', reply_to: null, scheduled_at: '' }
  const { id } = await taken('POST', '/broadcasts', {
    segment_id: segment,
    from,
    subject: 'Go',
    html,
    ...empty,
  })
  expect(await taken('GET', `/broadcasts/${id}`)).toMatchObject({
    name: 'Go',
    topic_id: null,
    reply_to: null,
    status: 'draft',
  })
  expect(await taken('POST', `/broadcasts/${id}/send`, { broadcast_id: id, scheduled_at: '' })).toMatchObject(
    {
      id,
    },
  )
})

test('broadcasts: a list has every field that Rust and .NET read', async () => {
  const unset = {
    name: null,
    text: null,
    topic_id: null,
    preview_text: null,
    send: false,
    scheduled_at: null,
  }
  const { id } = await taken('POST', '/broadcasts', {
    segment_id: segment,
    from,
    subject: 'Rust',
    html,
    ...unset,
  })
  const list = await taken('GET', '/broadcasts?limit=1')
  expect(list).toMatchObject({ object: 'list', has_more: true })
  expect(list.data).toMatchObject([{ ...summary, id, name: 'Rust', status: 'draft' }])
  // The statuses that .NET knows.
  expect(['draft', 'queued', 'sent', 'scheduled', 'failed']).toContain(
    (list.data as { status: string }[])[0]!.status,
  )
  const copy = await taken('POST', `/broadcasts/${id}/duplicate`, '')
  expect(copy).toEqual({ object: 'broadcast', id: uuid })
})

test('templates: accepts aliases from Python, Go and Ruby, and shows variable types that .NET and Java support', async () => {
  const variables = [
    { key: 'NAME', type: 'string', fallback_value: 'you' },
    { key: 'COUNT', type: 'number', fallback_value: 2 },
    { key: 'PAID', type: 'boolean', fallback_value: null },
  ]
  const given = {
    name: 'Order',
    alias: 'order',
    from,
    subject: 'Hi {{{NAME}}}',
    html: '{{{COUNT}}}',
    variables,
  }
  const { id, object } = await taken('POST', '/templates', { ...given, reply_to: null, text: null })
  expect([object, id]).toEqual(['template', uuid])
  const read = await taken('GET', '/templates/order')
  expect(read).toMatchObject({
    object: 'template',
    id,
    name: 'Order',
    alias: 'order',
    status: 'draft',
    published_at: null,
    created_at: time,
    updated_at: time,
    has_unpublished_versions: true,
    current_version_id: uuid,
  })
  const known = { id: uuid, key: expect.any(String) as string, created_at: time, updated_at: time }
  expect(read.variables).toMatchObject([known, known, known])
  for (const { type } of read.variables as { type: string }[]) expect(['string', 'number']).toContain(type)
  const change = { id: 'order', name: 'Orders', variables: [variables[0]] }
  expect(await taken('PATCH', '/templates/order', change)).toEqual({ object: 'template', id })
  expect(await taken('POST', '/templates/order/publish', '{}')).toEqual({ object: 'template', id })
  expect(await taken('GET', '/templates?limit=1')).toMatchObject({
    object: 'list',
    has_more: false,
    data: [{ id, name: 'Orders', alias: 'order', status: 'published', published_at: time, created_at: time }],
  })
  const copy = await taken('POST', `/templates/${id}/duplicate`, '')
  expect(copy).toEqual({ object: 'template', id: uuid })
  // Go sends unset texts along with the template.
  const email = { from, to: ['ada@customer.example'], subject: '', html: '', text: '', reply_to: '' }
  const sent = await taken('POST', '/emails', {
    ...email,
    template: { id: 'order', variables: { COUNT: '3' } },
  })
  expect(await taken('GET', `/emails/${sent.id}`)).toMatchObject({ subject: 'Hi you' })
  expect(await taken('DELETE', `/templates/${copy.id}`, '{}')).toEqual({
    object: 'template',
    id: copy.id,
    deleted: true,
  })
})

test('errors have a status, a message and a name that all clients recognize', async () => {
  const of = async (method: string, path: string, body?: unknown) => {
    const { status, json } = await api.call(method, path, body)
    return [status, json]
  }
  const error = (statusCode: number, name: string, message: string) => [
    statusCode,
    { statusCode, message, name },
  ]
  const nobody = '0199c0de-0000-7000-8000-000000000000'
  expect(await of('GET', `/broadcasts/${nobody}`)).toEqual(error(404, 'not_found', 'Broadcast not found'))
  expect(await of('GET', '/templates/none')).toEqual(error(404, 'not_found', 'Template not found'))
  expect(await of('POST', '/broadcasts', { from, subject: 'x' })).toEqual(
    error(422, 'missing_required_field', 'Missing `segment_id` field.'),
  )
  expect(await of('POST', '/templates', { name: 'x' })).toEqual(
    error(422, 'missing_required_field', 'Missing `html` field.'),
  )
  const { id } = await taken('POST', '/broadcasts', { segment_id: segment, from, subject: 'x', html })
  expect(await of('POST', `/broadcasts/${id}/cancel`)).toEqual(
    error(403, 'validation_error', 'Only queued or scheduled broadcasts can be canceled'),
  )
})
