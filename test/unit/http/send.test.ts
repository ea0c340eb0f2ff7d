import PostalMime from 'postal-mime'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { RETRY_PERIOD } from '../../../appliance/queue/schedule.ts'
import { ask, errorText, hello, startApi, type Api } from './harness.ts'

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

const idOf = ({ json }: { json: unknown }) => (json as { id: string }).id
const sourceOf = async (id: string) => (await api.call('GET', `/emails/${id}/source`)).text

describe('an accepted email', () => {
  test('an accepted email returns its ID, is stored, and wakes dispatch', async () => {
    const before = api.woken
    const answer = await api.call('POST', '/emails', hello)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.text).toMatch(/^\{"id":"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"\}$/)
    expect(api.woken).toBe(before + 1)
    const email = await api.storage.getEmail({ teamId: api.teamId, id: idOf(answer) }, api.clock.now())
    expect(email).toMatchObject({
      domainId: api.domain.id,
      via: 'rest',
      from: 'Acme <hi@acme.example>',
      to: ['bob@example.com'],
      subject: 'Hello',
      content: { place: 'unfinished', html: null, text: null },
      messageId: `<${idOf(answer)}@acme.example>`,
      returnPath: expect.stringMatching(
        new RegExp(`^bounce\\+${idOf(answer).replaceAll('-', '')}-[0-9a-f]{21}@send\\.acme\\.example$`),
      ) as string,
      lastEvent: 'queued',
    })
  })

  test('an email has one delivery per address, in the first field that lists the address, due now', async () => {
    const id = idOf(
      await api.call('POST', '/emails', {
        ...hello,
        to: ['Bob <bob@example.com>', 'bob@EXAMPLE.com', 'eve@example.net'],
        cc: ['bob@example.com', 'carl@example.com'],
        bcc: 'dora@example.org',
      }),
    )
    const { deliveries } = await api.storage.getHistory({ teamId: api.teamId, id }, api.clock.now())
    expect(
      deliveries.map(({ recipient, field, provider, state }) => [recipient, field, provider, state]),
    ).toEqual([
      ['bob@example.com', 'to', '?example.com', 'waiting'],
      ['eve@example.net', 'to', '?example.net', 'waiting'],
      ['carl@example.com', 'cc', '?example.com', 'waiting'],
      ['dora@example.org', 'bcc', '?example.org', 'waiting'],
    ])
    for (const { createdAt, dueAt, expiresAt } of deliveries) {
      expect(dueAt).toBe(createdAt)
      expect(expiresAt).toBe(createdAt + RETRY_PERIOD)
    }
  })

  test('an email is queued in the pool assigned to its stream, which is derived from its headers', async () => {
    const assignment = {
      id: 'a1',
      teamId: api.teamId,
      domainId: null,
      stream: 'broadcast' as const,
      pool: 'slow',
    }
    await api.storage.saveAssignment({ assignment }, api.clock.now())
    const send = async (headers: Record<string, string>) =>
      idOf(await api.call('POST', '/emails', { ...hello, headers }))
    const newsletter = await send({ 'List-Unsubscribe': '<https://acme.example/u>' })
    const receipt = await send({
      'List-Unsubscribe': '<https://acme.example/u>',
      'X-Posthaste-Stream': 'transactional',
    })
    await api.storage.removeAssignment({ id: 'a1' }, api.clock.now())
    const poolOf = async (id: string) =>
      (await api.storage.getHistory({ teamId: api.teamId, id }, api.clock.now())).deliveries[0]!.pool
    expect([await poolOf(newsletter), await poolOf(receipt)]).toEqual(['slow', 'default'])
    const message = await api.storage.getMessage({ emailId: receipt }, api.clock.now())
    expect(Buffer.from(message!).toString()).not.toContain('Posthaste-Stream')
  })

  test('the message contains no Bcc', async () => {
    const id = idOf(await api.call('POST', '/emails', { ...hello, bcc: ['secret@example.org'] }))
    const source = await sourceOf(id)
    expect(source).not.toMatch(/^bcc:/im)
    expect(source).not.toContain('secret')
    const { json } = await api.call('GET', `/emails/${id}`)
    expect(json).toMatchObject({ bcc: ['secret@example.org'] })
  })

  test.each(['/email', '/emails/sending', '/email/sending', '//emails/', '/emails/'])(
    'accepts an email on the path %s',
    async (path) => {
      expect((await api.call('POST', path, hello)).status).toBe(200)
    },
  )

  test('accepts an email with a sending key, and with one restricted to this domain', async () => {
    const bound = await api.makeKey('sending_access', api.domain.id)
    for (const key of [api.sending, bound])
      expect((await api.call('POST', '/emails', hello, { authorization: `bearer ${key}` })).status).toBe(200)
  })

  test('the message contains text generated from HTML, attachments, headers and tags', async () => {
    const id = idOf(
      await api.call('POST', '/emails', {
        ...hello,
        text: undefined,
        html: '<h1>Hi</h1><img src="cid:logo">',
        reply_to: 'help@acme.example',
        headers: { 'X-Entity-Ref-ID': '7' },
        tags: [{ name: 'kind', value: 'test' }],
        attachments: [
          { filename: 'a.txt', content: Buffer.from('text').toString('base64') },
          { filename: 'logo.png', content: { type: 'Buffer', data: [1, 2, 3] }, content_id: 'logo' },
        ],
        region: 'eu-west-1',
      }),
    )
    const parsed = await PostalMime.parse(await sourceOf(id))
    expect(parsed.text).toBe('Hi\n')
    expect(parsed.replyTo?.[0]?.address).toBe('help@acme.example')
    expect(parsed.headers.find(({ key }) => key === 'x-entity-ref-id')?.value).toBe('7')
    expect(parsed.attachments.map(({ filename }) => filename).sort()).toEqual(['a.txt', 'logo.png'])
    const { json } = await api.call('GET', `/emails/${id}`)
    expect(json).toMatchObject({
      object: 'email',
      text: 'Hi',
      reply_to: ['help@acme.example'],
      cc: null,
      bcc: null,
      tags: [{ name: 'kind', value: 'test' }],
      last_event: 'queued',
      scheduled_at: null,
    })
    expect((json as { created_at: string }).created_at).toMatch(
      /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?\+00$/,
    )
  })

  test('returns an email of 28 MB byte for byte', async () => {
    const content = Buffer.alloc(28_000_000, 'All work and no play. ').toString('base64')
    const id = idOf(
      await api.call('POST', '/emails', { ...hello, attachments: [{ filename: 'big.txt', content }] }),
    )
    const { attachments } = await PostalMime.parse(await sourceOf(id))
    expect(Buffer.from(attachments[0]!.content as ArrayBuffer).toString('base64') === content).toBe(true)
  })
})

describe('POST /emails with invalid input', () => {
  let before = 0
  beforeEach(async () => {
    before = await api.count()
  })
  const nothingStored = async () => expect(await api.count()).toBe(before)
  const refused = async (body: unknown, status: number, name: string, message: string) => {
    const answer = await api.call('POST', '/emails', body)
    expect(answer.text).toBe(errorText(status, name, message))
    expect(answer.status).toBe(status)
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
    await nothingStored()
  }

  test.each(['{', '{"from":', 'null,', '\u0000', '{"a":1}{'])('rejects malformed JSON %j with 400', (body) =>
    refused(body, 400, 'validation_error', 'The request body is not valid JSON.'),
  )

  test.each([
    ['a stray byte', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
    ['Latin-1', Buffer.from(JSON.stringify({ ...hello, subject: 'Café' }), 'latin1')],
  ])('rejects JSON with %s, which is not UTF-8', (_what, body) =>
    refused(
      body,
      400,
      'validation_error',
      'The request body is not valid UTF-8, which JSON requires (RFC 8259 §8.1).',
    ),
  )

  test.each(['[1]', '"x"', '5', 'null', ''])('rejects the body %j, which is not an object', (body) =>
    refused(body, 422, 'validation_error', 'Invalid `request.body` field: it must be an object.'),
  )

  test.each([
    [{ from: 5 }, '`from` field: it must be a string.'],
    [{ to: 5 }, '`to` field: it must be a string or an array of strings.'],
    [{ to: ['a@example.com', { email: 'x' }] }, '`to[1]` field: it must be a string.'],
    [{ subject: ['x'] }, '`subject` field: it must be a string.'],
    [{ html: { a: 1 } }, '`html` field: it must be a string.'],
    [{ headers: { 'X-A': 5 } }, '`headers.X-A` field: it must be a string.'],
    [{ headers: 'X-A: 5' }, '`headers` field: it must be an object.'],
    [{ tags: { name: 'a' } }, '`tags` field: it must be an array of objects.'],
    [
      { attachments: [{ content: 5 }] },
      '`attachments[0].content` field: it must be a string or an array of integers or an object.',
    ],
    [
      { attachments: [{ content: 'QQ==', filename: 5 }] },
      '`attachments[0].filename` field: it must be a string.',
    ],
  ])('rejects wrong types in %j', (fields, sentence) =>
    refused({ ...hello, ...fields }, 422, 'validation_error', `Invalid ${sentence}`),
  )

  test.each(['from', 'to', 'subject'])('rejects a missing %s', (field) =>
    refused({ ...hello, [field]: undefined }, 422, 'missing_required_field', `Missing \`${field}\` field.`),
  )

  test('rejects an unknown template before a missing From', () =>
    refused({ to: 'bob@example.com', template: { id: 'x' } }, 404, 'not_found', 'Template not found'))

  test('rejects an email with neither HTML nor text', () =>
    refused({ ...hello, text: undefined }, 422, 'missing_required_field', 'Missing `html` or `text` field.'))

  const format =
    'The email address needs to follow the `email@example.com` or `Name <email@example.com>` format.'
  test.each([
    ['from', 'Acme\r\nBcc: eve@example.com <hi@acme.example>'],
    ['to', 'bob@example.com\r\nRCPT TO:<eve@example.com>'],
    ['cc', ['a@example.com\nb@example.com']],
    ['bcc', '"a\r\nb"@example.com'],
    ['reply_to', 'x@acme.example\u0000'],
  ])('rejects line breaks and NUL in %s', (field, value) =>
    refused({ ...hello, [field]: value }, 422, 'validation_error', `Invalid \`${field}\` field. ${format}`),
  )

  test.each([
    [{ subject: 'a\r\nBcc: eve@example.com' }, '`subject`'],
    [{ headers: { 'X-A': 'a\r\nBcc: eve@example.com' } }, '`headers.X-A`'],
  ])('rejects line breaks in a header value: %j', (fields, field) =>
    refused(
      { ...hello, ...fields },
      422,
      'validation_error',
      `Invalid ${field} field: it must not contain line breaks or NUL.`,
    ),
  )

  test.each(['to', 'cc', 'bcc'])('rejects 51 recipients in %s', (field) =>
    refused(
      { ...hello, [field]: Array.from({ length: 51 }, (_, i) => `r${i}@example.com`) },
      422,
      'validation_error',
      `The \`${field}\` field accepts at most 50 recipients.`,
    ),
  )

  test('rejects an unverified domain', () =>
    refused(
      { ...hello, from: 'hi@new.example' },
      403,
      'validation_error',
      'The new.example domain is not verified. Publish its DNS records and verify it before sending.',
    ))

  test.each(['hi@foreign.example', 'hi@sub.acme.example'])(
    'rejects a domain of another team or an unknown domain: %s',
    (from) =>
      refused(
        { ...hello, from },
        403,
        'validation_error',
        `The ${from.slice(3)} domain is not verified. Please add it to this server and verify it, or send from one of your team's domains.`,
      ),
  )

  test('rejects a key that is restricted to another domain', async () => {
    const bound = await api.makeKey('sending_access', api.unverified.id)
    const answer = await api.call('POST', '/emails', hello, { authorization: `Bearer ${bound}` })
    expect(answer.text).toBe(
      errorText(403, 'validation_error', 'This API key is not allowed to send from acme.example.'),
    )
    await nothingStored()
  })

  test('rejects a body of 41 MB, with or without Content-Length', async () => {
    const body = Buffer.alloc(41 * 1024 * 1024, 'a')
    const sentence = 'The request is larger than 41943040 bytes.'
    await refused(body, 413, 'validation_error', sentence)
    const stream = new ReadableStream({
      start(controller) {
        for (let at = 0; at < body.length; at += 65_536) controller.enqueue(body.subarray(at, at + 65_536))
        controller.close()
      },
    })
    const response = await fetch(`${api.url}/emails`, {
      method: 'POST',
      headers: { authorization: `Bearer ${api.full}`, 'content-type': 'application/json' },
      body: stream,
      duplex: 'half',
    })
    expect(await response.text()).toBe(errorText(413, 'validation_error', sentence))
    await nothingStored()
  })

  test('rejects a message that exceeds the limit once encoded', async () => {
    const content = Array.from({ length: 200_000 }, () => 7)
    const small = await startApi({ messageBytes: 450_000 })
    const send = (bytes: number[]) =>
      small.call('POST', '/emails', { ...hello, attachments: [{ content: bytes }] })
    expect((await send(content)).status).toBe(200)
    // 340,000 bytes of UTF-8 fit as is, but not in base64.
    const grown = await small.call('POST', '/emails', { ...hello, text: 'é'.repeat(170_000) })
    expect(grown.text).toBe(
      errorText(422, 'validation_error', 'The message with its attachments is larger than 450000 bytes.'),
    )
    expect(await small.count()).toBe(1)
    await small.close()
  })

  test.each([{ 'content-encoding': 'gzip' }, { 'content-encoding': 'br, identity' }])(
    'rejects a compressed body with %j',
    async (headers) => {
      const answer = await api.call('POST', '/emails', JSON.stringify(hello), headers)
      const sentence = 'The request body is compressed. Send it uncompressed, without `Content-Encoding`.'
      expect(answer.text).toBe(errorText(415, 'validation_error', sentence))
      await nothingStored()
    },
  )

  test('rejects a Content-Type other than JSON', async () => {
    const sentence = 'The request body must be JSON: send `Content-Type: application/json`.'
    const types: Record<string, string>[] = [
      { 'content-type': 'text/plain' },
      { 'content-type': 'application/x-www-form-urlencoded' },
      { 'content-type': 'nonsense' },
    ]
    for (const headers of types) {
      const answer = await api.call('POST', '/emails', JSON.stringify(hello), headers)
      expect(answer.text).toBe(errorText(415, 'validation_error', sentence))
    }
    await nothingStored()
  })

  test('rejects missing, invalid and revoked keys', async () => {
    const revoked = await api.makeKey('full_access')
    const keys = await api.senders.listKeys({ teamId: api.teamId })
    const newest = keys.toSorted((a, b) => (a.id < b.id ? 1 : -1))[0]!
    await api.senders.revokeKey({ teamId: api.teamId, id: newest.id })
    const missing = errorText(401, 'missing_api_key', 'Missing API key in the authorization header.')
    const invalid = errorText(403, 'invalid_api_key', 'API key is invalid.')
    expect((await ask(`${api.url}/emails`, 'POST', hello)).text).toBe(missing)
    for (const [authorization, expected] of [
      ['', missing],
      ['Bearer', missing],
      ['Basic cmVfeDpy', missing],
      [api.full, missing],
      ['Bearer re_wrong', invalid],
      [`Bearer ${revoked}`, invalid],
      [`Bearer ${'re_' + 'x'.repeat(5000)}`, invalid],
    ] as const) {
      const { text } = await ask(`${api.url}/emails`, 'POST', hello, { authorization })
      expect(text).toBe(expected)
    }
    for (const query of [`?api_key=${api.full}`, `?authorization=Bearer%20${api.full}`])
      expect((await ask(`${api.url}/emails${query}`, 'POST', hello)).text).toBe(missing)
    await nothingStored()
  })
})
