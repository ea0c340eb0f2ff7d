import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../../appliance/mail/ids.ts'
import { ask, errorText, hello, startApi, type Api } from './harness.ts'

let api: Api
const ids: string[] = []
beforeAll(async () => {
  api = await startApi()
  for (let i = 0; i < 25; i++) {
    const { json } = await api.call('POST', '/emails', { ...hello, subject: `Number ${i}` })
    ids.unshift((json as { id: string }).id)
  }
})
afterAll(() => api.close())

interface List {
  object: string
  has_more: boolean
  data: { id: string }[]
}
const list = async (path: string) => {
  const { json } = await api.call('GET', path)
  const { object, has_more, data } = json as List
  return { object, has_more, ids: data.map(({ id }) => id) }
}

describe('GET /emails', () => {
  test('returns the newest 20 emails', async () => {
    expect(await list('/emails')).toEqual({ object: 'list', has_more: true, ids: ids.slice(0, 20) })
  })

  test('pages forward and backward', async () => {
    expect(await list(`/emails?limit=10&after=${ids[9]}`)).toMatchObject({
      has_more: true,
      ids: ids.slice(10, 20),
    })
    expect(await list(`/emails?limit=10&after=${ids[19]}`)).toMatchObject({
      has_more: false,
      ids: ids.slice(20),
    })
    expect(await list(`/emails?limit=5&before=${ids[10]}`)).toMatchObject({
      has_more: true,
      ids: ids.slice(5, 10),
    })
  })

  test('GET /emails returns the same fields as the hosted service, in the same order', async () => {
    const { json } = await api.call('GET', '/emails?limit=1')
    expect(Object.keys((json as { data: object[] }).data[0]!)).toEqual([
      'id',
      'message_id',
      'to',
      'from',
      'created_at',
      'subject',
      'bcc',
      'cc',
      'reply_to',
      'last_event',
      'scheduled_at',
    ])
  })

  test.each([
    'limit=0',
    'limit=101',
    'limit=-1',
    'limit=x',
    'limit=1.5',
    'limit=',
    'limit=1&limit=2',
    'limit=1e1',
  ])('rejects ?%s', async (query) => {
    const { status, text } = await api.call('GET', `/emails?${query}`)
    expect(status).toBe(422)
    expect(text).toBe(errorText(422, 'validation_error', 'Invalid `limit`: a number from 1 to 100.'))
  })

  test.each(['after', 'before'])('GET /emails rejects ?%s=x', async (name) => {
    const { text } = await api.call('GET', `/emails?${name}=x`)
    expect(text).toBe(errorText(422, 'validation_error', `The \`${name}\` must be a valid UUID.`))
  })

  test('rejects after together with before', async () => {
    const { status } = await api.call('GET', `/emails?after=${ids[0]}&before=${ids[1]}`)
    expect(status).toBe(422)
  })

  test('accepts a Content-Type without a body', async () => {
    expect((await api.call('GET', '/emails', undefined, { 'content-type': 'application/json' })).status).toBe(
      200,
    )
  })
})

describe('GET /emails/:id', () => {
  test('accepts an ID in upper case, and extra slashes', async () => {
    const { json } = await api.call('GET', `//emails//${ids[0]!.toUpperCase()}/`)
    expect(json).toMatchObject({ object: 'email', id: ids[0], subject: 'Number 24' })
  })

  test.each(['zz', '123', 'a@b', 'a%40b', 'a+b', '..%2f..%2fetc'])('rejects the ID %s', async (id) => {
    const { status, text } = await api.call('GET', `/emails/${id}`)
    expect(text).toBe(errorText(422, 'validation_error', 'The `id` must be a valid UUID.'))
    expect(status).toBe(422)
  })

  test('does not treat /emails/receiving as an email ID', async () => {
    for (const path of ['/emails/receiving', '/emails/receiving/', '/emails/receiving?limit=5'])
      expect((await api.call('GET', path)).text).toBe('{"object":"list","has_more":false,"data":[]}')
  })

  test('returns 404 for an unknown ID in every view of an email', async () => {
    const id = newId(Date.now())
    for (const view of ['', '/timeline', '/source']) {
      const { status, text } = await api.call('GET', `/emails/${id}${view}`)
      expect(status).toBe(404)
      expect(text).toBe(errorText(404, 'not_found', 'Email not found'))
    }
  })

  test('returns the timeline of an email', async () => {
    const { json } = await api.call('GET', `/emails/${ids[0]}/timeline`)
    expect(json).toMatchObject({
      object: 'timeline',
      email_id: ids[0],
      deliveries: [{ recipient: 'bob@example.com', field: 'to', state: 'waiting', attempts: 0, cause: null }],
      attempts: [],
    })
  })

  test('returns the source of an email as a download that browsers do not render', async () => {
    const { headers, text } = await api.call('GET', `/emails/${ids[0]}/source`)
    expect(headers.get('content-type')).toBe('message/rfc822')
    expect(headers.get('content-disposition')).toBe(`attachment; filename="${ids[0]}.eml"`)
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(text).toMatch(/^From: Acme <hi@acme.example>\r\n/)
  })
})

describe('domains', () => {
  test('lists domains completely, or in pages', async () => {
    const [newer, older] = [api.unverified.id, api.domain.id]
    expect(await list('/domains')).toEqual({ object: 'list', has_more: false, ids: [newer, older] })
    expect(await list('/domains?limit=1')).toMatchObject({ has_more: true, ids: [newer] })
    expect(await list(`/domains?limit=1&after=${newer}`)).toMatchObject({ has_more: false, ids: [older] })
    expect(await list(`/domains?before=${older}`)).toMatchObject({ has_more: false, ids: [newer] })
  })

  test('shows a domain with its records', async () => {
    const { json } = await api.call('GET', `/domains/${api.domain.id}`)
    expect(json).toMatchObject({
      object: 'domain',
      name: 'acme.example',
      status: 'verified',
      capabilities: { sending: 'enabled', receiving: 'disabled' },
    })
    const { records } = json as { records: { record: string; type: string; ttl: string }[] }
    expect(records.map(({ record, type, ttl }) => [record, type, ttl])).toEqual([
      ['DKIM', 'TXT', 'Auto'],
      ['DKIM', 'TXT', 'Auto'],
      ['SPF', 'MX', 'Auto'],
      ['SPF', 'TXT', 'Auto'],
    ])
  })

  test.each([undefined, '', '{}', { id: 'echoed' }])('verifies a domain with the body %j', async (body) => {
    const headers = { 'content-type': 'application/json' }
    const { status, json } = await api.call('POST', `/domains/${api.unverified.id}/verify`, body, headers)
    expect(status).toBe(200)
    expect(json).toEqual({ object: 'domain', id: api.unverified.id })
    expect((await api.call('GET', `/domains/${api.unverified.id}`)).json).toMatchObject({ status: 'pending' })
  })

  test('returns 404 for an unknown domain', async () => {
    for (const [method, path] of [
      ['GET', ''],
      ['POST', '/verify'],
    ] as const) {
      const { text } = await api.call(method, `/domains/${newId(Date.now())}${path}`)
      expect(text).toBe(errorText(404, 'not_found', 'Domain not found'))
    }
  })
})

describe('unknown or forbidden endpoints', () => {
  test.each([
    '/',
    '/nope',
    '/emails/x/y/z',
    '/sandbox/messages',
    '/emails/%zz',
    `/emails/${'x'.repeat(2000)}`,
    '/dashboards',
  ])('returns 404 for the path %s, with or without a key', async (path) => {
    const expected = errorText(404, 'not_found', 'The requested endpoint does not exist.')
    expect((await api.call('GET', path)).text).toBe(expected)
    expect((await ask(api.url + path, 'GET')).text).toBe(expected)
  })

  test.each([
    ['DELETE', '/emails', 'GET, HEAD, POST'],
    ['PUT', '/emails/', 'GET, HEAD, POST'],
    ['PATCH', '//domains', 'GET, HEAD, POST'],
    ['POST', '/session/', undefined],
    ['OPTIONS', '/emails', 'GET, HEAD, POST'],
    ['GET', '/email', 'POST'],
  ])('returns 405 for the method %s of %s', async (method, path, allow) => {
    if (allow === undefined) return
    const { status, headers, text } = await api.call(method, path)
    expect(status).toBe(405)
    expect(headers.get('allow')).toBe(allow)
    expect(text).toBe(errorText(405, 'method_not_allowed', 'Method is not allowed for the requested path.'))
  })

  test('returns 401 when a sending key reads emails or domains', async () => {
    const expected = errorText(401, 'restricted_api_key', 'This API key is restricted to only send emails.')
    for (const path of ['/emails', `/emails/${ids[0]}`, '/domains', `/domains/${api.domain.id}`])
      expect((await api.call('GET', path, undefined, { authorization: `Bearer ${api.sending}` })).text).toBe(
        expected,
      )
  })
})

test('a team cannot read emails and domains of another team, or send from its domain', async () => {
  const { accounts, storage, senders } = api
  expect(await accounts.firstTeam()).toMatchObject({ id: api.teamId })
  const other = newId(Date.now())
  const user = {
    id: newId(Date.now()),
    email: 'other@other.example',
    passwordHash: 'x',
    provenAt: null,
    createdAt: 0,
  }
  await storage.createOwner({ team: { id: other, name: 'Other', createdAt: Date.now() }, user }, Date.now())
  const { token } = await senders.createKey({ teamId: other, name: 'x', permission: 'full_access' })
  const headers = { authorization: `Bearer ${token}` }
  expect((await api.call('GET', '/emails', undefined, headers)).json).toMatchObject({ data: [] })
  expect((await api.call('GET', '/domains', undefined, headers)).json).toMatchObject({ data: [] })
  for (const path of [`/emails/${ids[0]}`, `/emails/${ids[0]}/source`, `/emails/${ids[0]}/timeline`])
    expect((await api.call('GET', path, undefined, headers)).status).toBe(404)
  expect((await api.call('GET', `/domains/${api.domain.id}`, undefined, headers)).status).toBe(404)
  expect((await api.call('POST', '/emails', hello, headers)).status).toBe(403)
})

test('the server’s health can be read without a key', async () => {
  expect((await ask(`${api.url}/healthz`, 'GET')).json).toEqual({
    object: 'health',
    status: 'ok',
    reasons: [],
  })
})
