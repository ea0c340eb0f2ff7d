import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hello, startApi, type Api } from '../unit/http/harness.ts'

/**
 * Tests requests of clients in other languages (reference: wire format §1.2), byte for byte and without an HTTP
 * library.
 */

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

interface RawAnswer {
  status: number
  body: unknown
}

/** Sends bytes as is. Returns everything received until the server closes the connection. */
function exchange(bytes: string): Promise<string> {
  const { hostname, port } = new URL(api.url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname)
    let text = ''
    socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
    socket.on('error', reject).on('close', () => resolve(text))
    socket.write(bytes)
  })
}

/** Sends a request and reads the response. */
async function raw(
  head: string,
  body = '',
  lengths = `Content-Length: ${Buffer.byteLength(body)}\r\n`,
): Promise<RawAnswer> {
  const fields = `Host: mail.acme.example\r\nAuthorization: Bearer ${api.full}\r\nConnection: close\r\n`
  const text = await exchange(`${head}\r\n${fields}${body === '' ? '' : lengths}\r\n${body}`)
  const [headers = '', ...rest] = text.split('\r\n\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(headers)?.[1])
  return { status, body: JSON.parse(rest.join('\r\n\r\n')) }
}

const post = (path: string, body: unknown, type = 'application/json'): Promise<RawAnswer> =>
  raw(`POST ${path} HTTP/1.1\r\nContent-Type: ${type}`, JSON.stringify(body))

describe('paths', () => {
  test.each([
    '/emails',
    '/emails/',
    '//emails',
    '/emails//',
    '//emails//',
    '/emails/?limit=1',
    '/emails?limit=1',
  ])('GET %s lists emails', async (path) => {
    expect(await raw(`GET ${path} HTTP/1.1`)).toMatchObject({ status: 200, body: { object: 'list' } })
  })

  test.each(['/emails', '/email', '/emails/sending', '/email/sending', '/emails/', '//email/sending/'])(
    'POST %s sends an email',
    async (path) => {
      expect(await post(path, hello)).toMatchObject({
        status: 200,
        body: { id: expect.any(String) as string },
      })
    },
  )

  test('accepts an ID in capitals followed by a slash', async () => {
    const { body } = await post('/emails', hello)
    const { id } = body as { id: string }
    expect(await raw(`GET /emails/${id.toUpperCase()}/ HTTP/1.1`)).toMatchObject({
      status: 200,
      body: { id },
    })
  })

  test.each([
    ['plus+tag@customer.example', 'plus+tag@customer.example'],
    ['plus+tag@customer.example', 'plus%2Btag%40customer.example'],
    ['plus+tag@customer.example', 'plus+tag%40customer.example'],
    ['o!dd#ly@customer.example', 'o%21dd%23ly%40customer.example'],
    ['50%25@customer.example', '50%2525%40customer.example'],
  ])('finds the address %s at the path %s', async (email, path) => {
    await api.call('POST', '/suppressions', { email })
    expect(await raw(`GET /suppressions/${path} HTTP/1.1`)).toMatchObject({ status: 200, body: { email } })
    expect(await raw(`DELETE /suppressions/${path}/ HTTP/1.1`)).toMatchObject({
      status: 200,
      body: { deleted: true },
    })
  })

  test.each(['/emails/%zz', '/suppressions/%', '/emails/%ff'])(
    'rejects the invalid path %s',
    async (path) => {
      const { status, body } = await raw(`GET ${path} HTTP/1.1`)
      expect([404, 422]).toContain(status)
      expect(body).toMatchObject({ statusCode: status })
    },
  )
})

describe('bodies', () => {
  test.each(['{}', '[]', '{"id":"x"}', 'null'])('GET ignores the body %s', async (body) => {
    expect(await raw('GET /emails HTTP/1.1\r\nContent-Type: application/json', body)).toMatchObject({
      status: 200,
    })
  })

  test.each(['', '{}', '{"id":"x"}', 'not json'])('DELETE ignores the body %j', async (body) => {
    const { key } = await api.senders.createKey({ teamId: api.teamId, name: 'x', permission: 'full_access' })
    expect(
      await raw(`DELETE /api-keys/${key.id} HTTP/1.1\r\nContent-Type: application/json`, body),
    ).toMatchObject({
      status: 200,
      body: { deleted: true },
    })
  })

  test('POST accepts a content type without a body', async () => {
    const verify = `POST /domains/${api.domain.id}/verify HTTP/1.1`
    expect(await raw(`${verify}\r\nContent-Type: application/json`)).toMatchObject({ status: 200 })
    expect(await raw(`${verify}\r\nContent-Type: application/json\r\nContent-Length: 0`)).toMatchObject({
      status: 200,
    })
    expect(await raw(verify)).toMatchObject({ status: 200 })
  })

  test.each([
    'application/json',
    'application/json; charset=utf-8',
    'APPLICATION/JSON',
    'application/json;charset=UTF-8',
  ])('POST accepts the content type %s', async (type) => {
    expect(await post('/emails', hello, type)).toMatchObject({ status: 200 })
  })

  test('POST ignores a byte order mark before the JSON, which some editors and shells write', async () => {
    const head = 'POST /emails HTTP/1.1\r\nContent-Type: application/json'
    expect(await raw(head, `\uFEFF${JSON.stringify(hello)}`)).toMatchObject({ status: 200 })
  })

  test.each(['identity', 'IDENTITY', ''])(
    'POST accepts the content encoding %j as no encoding',
    async (how) => {
      const head = `POST /emails HTTP/1.1\r\nContent-Type: application/json\r\nContent-Encoding: ${how}`
      expect(await raw(head, JSON.stringify(hello))).toMatchObject({ status: 200 })
    },
  )

  test('POST reads a chunked body', async () => {
    const body = JSON.stringify(hello)
    const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
    const head = 'POST /emails HTTP/1.1\r\nContent-Type: application/json'
    expect(await raw(head, chunks, 'Transfer-Encoding: chunked\r\n')).toMatchObject({ status: 200 })
  })

  test.each([
    [
      '/emails',
      { ...hello, region: 'us-east-1', created_at: 'x', email_id: 'x', audience_id: null, unknown: {} },
    ],
    ['/emails/batch', [{ ...hello, id: 'x' }]],
    ['/api-keys', { name: 'n', id: 'x', permission: 'full_access', domain_id: null, extra: 1 }],
    ['/suppressions', { email: 'a@unknown.example', suppression_id: 'x' }],
    ['/suppressions/batch/add', { emails: ['b@unknown.example'], ids: 'ignored' }],
    ['/domains', { name: 'unknown-fields.example', domain_id: 'x', dns_provider: 'x' }],
  ])('POST %s ignores unknown fields', async (path, body) => {
    const { status } = await post(path, body)
    expect([200, 201]).toContain(status)
  })

  test('POST accepts null or empty optional fields, as clients in typed languages send them', async () => {
    const nothing = { cc: null, bcc: null, reply_to: null, tags: null, headers: null, attachments: null }
    expect(await post('/emails', { ...hello, ...nothing, scheduled_at: null, topic_id: null })).toMatchObject(
      {
        status: 200,
      },
    )
    const empty = { cc: [], bcc: [], reply_to: '', tags: [], headers: {}, attachments: [], scheduled_at: '' }
    expect(await post('/emails', { ...hello, ...empty })).toMatchObject({ status: 200 })
  })
})

test('accepts a request without a user agent', async () => {
  expect(await raw('GET /domains HTTP/1.1')).toMatchObject({ status: 200 })
})
