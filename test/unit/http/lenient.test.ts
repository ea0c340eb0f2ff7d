import { Type } from 'typebox'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createNormalizer } from '../../../appliance/http/lenient.ts'
import { literals, Nullable } from '../../../appliance/api/schemas.ts'
import { hello, startApi, type Api } from './harness.ts'

const spelled = (schema: object, value: unknown) =>
  (createNormalizer(schema) ?? ((same: unknown) => same))(value)

describe('names in camelCase', () => {
  const schema = Type.Object({
    reply_to: Type.String(),
    topics: Type.Array(Type.Object({ fallback_value: Type.String() })),
    open: Nullable(Type.Object({ click_count_2: Type.Integer() })),
    headers: Type.Record(Type.String(), Type.String()),
  })

  test('converts camelCase names to the names of the schema, at every depth', () => {
    expect(
      spelled(schema, { replyTo: 'a', topics: [{ fallbackValue: 'b' }], open: { clickCount_2: 1 } }),
    ).toEqual({ reply_to: 'a', topics: [{ fallback_value: 'b' }], open: { click_count_2: 1 } })
  })

  test('ignores a camelCase name if the snake_case name is present', () => {
    expect(spelled(schema, { replyTo: 'a', reply_to: 'b' })).toEqual({ reply_to: 'b' })
    expect(spelled(schema, { replyTo: 'a', reply_to: null })).toEqual({ reply_to: null })
  })

  test('keeps camelCase names in maps, and if the schema does not define them', () => {
    const value = { headers: { replyTo: 'a', reply_to: 'b' }, somethingElse: 1 }
    expect(spelled(schema, structuredClone(value))).toEqual(value)
  })

  test('keeps a camelCase name if the schema defines a field of that name', () => {
    const both = Type.Object({ content_type: Type.String(), contentType: Type.String() })
    expect(spelled(both, { contentType: 'a' })).toEqual({ contentType: 'a' })
  })
})

describe('an empty list', () => {
  const map = Type.Record(Type.String(), Type.String())
  test('converts an empty list to an empty map where the schema expects a map', () => {
    expect(spelled(map, [])).toEqual({})
    expect(spelled(Nullable(map), [])).toEqual({})
    expect(
      spelled(Type.Object({ headers: map, filter: Type.Object({}) }), { headers: [], filter: [] }),
    ).toEqual({
      headers: {},
      filter: {},
    })
  })

  test('keeps an empty list where the schema also allows a list', () => {
    const either = Type.Union([Type.Array(Type.Integer()), Type.Object({ data: Type.String() })])
    expect(spelled(either, [])).toEqual([])
    expect(spelled(map, ['a'])).toEqual(['a'])
    expect(spelled(Type.Array(map, { maxItems: 1 }), [[], []])).toEqual([[], []])
  })
})

describe('constants', () => {
  test('accepts constants in any case, in lists and in nullable fields', () => {
    const tls = Nullable(literals(['opportunistic', 'enforced']))
    expect(spelled(tls, 'ENFORCED')).toBe('enforced')
    expect(spelled(tls, null)).toBe(null)
    expect(spelled(Type.Array(tls), ['Enforced', 'none', 5])).toEqual(['enforced', 'none', 5])
    expect(spelled(Type.Literal('Buffer'), 'BUFFER')).toBe('Buffer')
  })

  test('constants keep their case where the schema also allows free text', () => {
    expect(spelled(Type.Union([literals(['all']), Type.String()]), 'ALL')).toBe('ALL')
  })
})

describe('lenient request parsing', () => {
  let api: Api
  beforeAll(async () => {
    api = await startApi()
  })
  afterAll(() => api.close())

  test('accepts a batch with empty lists as maps, and names in camelCase', async () => {
    const one = { ...hello, headers: [], replyTo: 'help@acme.example' }
    const { status, json } = await api.call('POST', '/emails/batch', [one, one])
    expect(status).toBe(200)
    const { data } = json as { data: { id: string }[] }
    for (const { id } of data)
      expect((await api.call('GET', `/emails/${id}`)).json).toMatchObject({ reply_to: ['help@acme.example'] })
  })

  test('treats a retry with the other spelling as the same request', async () => {
    const key = { 'idempotency-key': 'spelling' }
    const first = await api.call('POST', '/emails', { ...hello, reply_to: 'help@acme.example' }, key)
    const retry = await api.call('POST', '/emails', { ...hello, replyTo: 'help@acme.example' }, key)
    expect([retry.status, retry.text]).toEqual([200, first.text])
  })

  test('reads topicId as topic_id', async () => {
    const { status, text } = await api.call('POST', '/emails', { ...hello, topicId: 'x' })
    expect([status, text]).toEqual([422, expect.stringContaining('The `topic_id` must be a valid UUID.')])
  })

  test.each([
    ['POST', '/domains', { name: 'capitals.example', region: 'EU-WEST-1', tls: 'Enforced' }, 201],
    ['POST', '/api-keys', { name: 'x', permission: 'SENDING_ACCESS' }, 201],
    ['POST', '/webhooks', { endpoint: 'https://app.example.com/', events: ['EMAIL.SENT'] }, 201],
    ['POST', '/suppressions/import', { csv: 'a@b.example', origin: 'COMPLAINT' }, 200],
    ['GET', '/suppressions?origin=MANUAL', undefined, 200],
    ['GET', '/emails/search?status=Delivered,BOUNCED&event=SENT', undefined, 200],
    ['GET', '/emails/metrics?granularity=DAILY&metrics=Sent&dimensions=PERIOD', undefined, 200],
    ['GET', '/emails/metrics/breakdown?by=DOMAIN', undefined, 200],
    ['GET', '/queue?state=HELD&stream=Broadcast', undefined, 200],
  ])('%s %s accepts constants in any case', async (method, path, body, status) => {
    const answer = await api.call(method, path, body)
    expect([answer.status, answer.text]).toEqual([status, expect.any(String)])
  })

  test('sends a broadcast without a request body', async () => {
    const segment = await api.call('POST', '/segments', { name: 'Readers' })
    const draft = await api.call('POST', '/broadcasts', {
      segment_id: (segment.json as { id: string }).id,
      from: hello.from,
      subject: 'News',
      html: '<p>News</p><a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a>',
    })
    const { id } = draft.json as { id: string }
    const { status, json } = await api.call('POST', `/broadcasts/${id}/send`)
    expect([status, json]).toEqual([200, { object: 'broadcast', id }])
  })

  test('returns constants in lower case', async () => {
    const { json } = await api.call('POST', '/domains', {
      name: 'small.example',
      region: 'EU-WEST-1',
      tls: 'ENFORCED',
    })
    expect(json).toMatchObject({ region: 'eu-west-1', tls: 'enforced' })
    const made = await api.call('POST', '/webhooks', {
      endpoint: 'https://b.example.com/',
      events: ['Email.Sent'],
    })
    const { id } = made.json as { id: string }
    const path = `/webhooks/${id}`
    expect((await api.call('PATCH', path, { status: 'DISABLED' })).status).toBe(200)
    expect((await api.call('GET', path)).json).toMatchObject({ events: ['email.sent'], status: 'disabled' })
  })
})
