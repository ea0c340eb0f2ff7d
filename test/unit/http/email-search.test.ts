import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { formatCsvRecord, readCsv } from '../../../appliance/mail/csv.ts'
import { newId } from '../../../appliance/mail/ids.ts'
import { ask, errorText, hello, owner, sessionCookie, startApi, type Api } from './harness.ts'

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

interface Search {
  has_more: boolean
  next: string | null
  looked_back_to: string | null
  data: { id: string; subject: string; attempts: number; last: unknown; api_key_id: string | null }[]
}
const search = async (query: string) => (await api.call('GET', `/emails/search?${query}`)).json as Search
const send = async (more: object = {}) =>
  ((await api.call('POST', '/emails', { ...hello, ...more })).json as { id: string }).id

describe('GET /emails/search', () => {
  test('finds emails by conditions, in pages', async () => {
    const ids: string[] = []
    for (let i = 0; i < 3; i++) ids.unshift(await send({ subject: `Heron number ${i}` }))
    await send({ subject: 'Something else' })
    const first = await search('subject=heron%20number&limit=2')
    expect(first.data.map(({ id }) => id)).toEqual(ids.slice(0, 2))
    expect(first).toMatchObject({ object: 'list', has_more: true, next: ids[1] })
    const second = await search(`subject=heron%20number&limit=2&after=${first.next}`)
    expect(second.data.map(({ id }) => id)).toEqual(ids.slice(2))
    expect(second).toMatchObject({ has_more: false, next: null, looked_back_to: null })
    expect(second.data[0]).toMatchObject({ attempts: 0, last: null, last_event: 'queued' })
  })

  test('finds a Message-ID with and without its angle brackets', async () => {
    const id = await send()
    for (const text of [`<${id}@acme.example>`, `${id}@acme.example`])
      expect((await search(`message_id=${encodeURIComponent(text)}`)).data.map((one) => one.id)).toEqual([id])
  })

  test('rejects invalid parameters with an error that names them', async () => {
    const refusals: [query: string, says: string][] = [
      ['status=lost', 'Invalid `status`: a comma-separated list of queued, scheduled,'],
      ['statsu=sent', 'Invalid `statsu`: one of status, domain,'],
      ['to=', 'Invalid `to`: a single string of 1 to 998 characters'],
      ['to=a&to=b', 'Invalid `to`: a single string'],
      ['since=yesterday', 'Invalid `since`: a time in ISO 8601'],
      ['tag=a:b:c', 'Invalid `tag`: `name` or `name:value`'],
      ['id=7', 'The `id` must be a valid UUID.'],
      ['before=' + newId(0), 'Invalid `before`: a search pages only forward'],
      ['limit=101', 'Invalid `limit`'],
    ]
    for (const [query, says] of refusals) {
      const { status, json } = await api.call('GET', `/emails/search?${query}`)
      expect([query, status]).toEqual([query, 422])
      expect((json as { message: string }).message).toContain(says)
    }
  })

  test('rejects sending keys, and requests without a key', async () => {
    for (const path of ['/emails/search', '/emails/export.csv', `/emails/${newId(0)}/webhooks`]) {
      const sending = await ask(api.url + path, 'GET', undefined, { authorization: `Bearer ${api.sending}` })
      expect([path, sending.status]).toEqual([path, 401])
      expect((await ask(api.url + path, 'GET')).status).toBe(401)
    }
  })

  test('GET /emails gets no additional fields', async () => {
    const { json } = await api.call('GET', '/emails?limit=1&status=bounced')
    expect(Object.keys((json as { data: object[] }).data[0]!)).not.toContain('attempts')
  })
})

describe('GET /emails/export.csv', () => {
  test('the export contains the emails that the search finds, and escapes formulas', async () => {
    const subject = '=HYPERLINK("https://evil.example")'
    const id = await send({ subject, to: ['a@example.net', 'b@example.net'] })
    const { status, headers, text } = await api.call('GET', '/emails/export.csv?subject=hyperlink')
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('text/csv; charset=utf-8; header=present')
    const [names, row, ...more] = [...readCsv(text)].map(({ cells }) => cells)
    expect(names!.slice(0, 5)).toEqual(['id', 'created_at', 'status', 'from', 'to'])
    expect(row).toMatchObject({ 0: id, 2: 'queued', 4: 'a@example.net, b@example.net', 7: `'${subject}` })
    expect(more).toEqual([])
    expect(text).toContain(formatCsvRecord([subject]).trim())
  })

  test('the export rejects a limit', async () => {
    expect((await api.call('GET', '/emails/export.csv?limit=5')).status).toBe(422)
  })
})

test('GET /emails/:id/preview accepts only the color schemes light and dark', async () => {
  const id = await send({ html: '<b>hi</b>' })
  const cookie = sessionCookie(await ask(`${api.url}/session`, 'POST', owner, { origin: api.url }))
  const preview = (query: string) =>
    ask(`${api.url}/emails/${id}/preview${query}`, 'GET', undefined, { cookie })
  expect((await preview('')).text).toContain('color-scheme:light')
  expect((await preview('?look=dark')).text).toContain('color-scheme:dark')
  const { status, text } = await preview('?look=pink')
  expect(status).toBe(422)
  expect(text).toBe(errorText(422, 'validation_error', 'Invalid `look`: one of light, dark.'))
})

describe('POST /emails/:id/resend', () => {
  test('resend creates a new email with the same content and attachments', async () => {
    const id = await send({
      subject: 'Once more',
      html: '<b>hi</b>',
      text: 'hi',
      cc: 'Cora <c@example.net>',
      bcc: 'b@example.net',
      headers: { 'X-Order': '7', 'Message-ID': '<mine@acme.example>' },
      tags: [{ name: 'kind', value: 'receipt' }],
      attachments: [{ filename: 'é.txt', content: Buffer.from('seven').toString('base64') }],
    })
    const { status, json } = await api.call('POST', `/emails/${id}/resend`)
    expect(status).toBe(200)
    const again = (json as { id: string }).id
    expect(again).not.toBe(id)
    const [before, after] = await Promise.all(
      [id, again].map(async (one) => (await api.storage.getEmail({ teamId: api.teamId, id: one }, 0))!),
    )
    const same = ['from', 'to', 'cc', 'bcc', 'subject', 'headers', 'tags'] as const
    for (const name of same) expect([name, after![name]]).toEqual([name, before![name]])
    const shown = (await api.call('GET', `/emails/${again}`)).json
    expect(shown).toMatchObject({ html: '<b>hi</b>', text: 'hi' })
    expect(before!.messageId).toBe('<mine@acme.example>')
    expect(after!.messageId).toBe(`<${again}@acme.example>`)
    expect(after!.attachments).toMatchObject([{ filename: 'é.txt', size: 5 }])
    const source = await api.call('GET', `/emails/${again}/source`)
    expect(source.text).toContain(Buffer.from('seven').toString('base64'))
  })

  test('resend creates one email per idempotency key', async () => {
    const id = await send()
    const key = { 'idempotency-key': 'again-1' }
    const first = await api.call('POST', `/emails/${id}/resend`, undefined, key)
    const second = await api.call('POST', `/emails/${id}/resend`, undefined, key)
    expect(second.json).toEqual(first.json)
  })

  test('resend rejects an email if the recipients in its header and envelope differ', async () => {
    const id = await send()
    const email = (await api.storage.getEmail({ teamId: api.teamId, id }, 0))!
    const strange = newId(api.clock.now())
    const message = (await api.storage.getMessage({ emailId: id }, 0))!
    const delivery = { field: 'to' as const, dueAt: 0, expiresAt: 1, suppressed: null, dsn: null }
    await api.storage.put(
      {
        emails: [
          {
            ...email,
            id: strange,
            via: 'smtp',
            to: ['everybody@lists.example'],
            message,
            reportTo: null,
            dsn: null,
            requireTls: null,
            stream: 'transactional',
            topicId: null,
            pool: 'default',
            deliveries: [{ ...delivery, id: newId(api.clock.now()), recipient: 'one@example.net' }],
          },
        ],
        receipt: null,
        quota: null,
      },
      api.clock.now(),
    )
    const { status, json } = await api.call('POST', `/emails/${strange}/resend`)
    expect(status).toBe(422)
    expect((json as { message: string }).message).toBe(
      'This email cannot be resent from here: its header lists different recipients than its envelope. Resend it from your app.',
    )
  })
})

test('search, export, webhooks and resend do not find emails of another team', async () => {
  const id = await send({ subject: 'Secret plans' })
  const teamId = '01990000-0000-7000-8000-00000000000b'
  const now = api.clock.now()
  const user = { id: teamId, email: 'other@other.example', passwordHash: '', provenAt: null, createdAt: now }
  await api.storage.createOwner({ team: { id: teamId, name: 'Other', createdAt: now }, user }, now)
  const { token } = await api.senders.createKey({ teamId, name: 'other', permission: 'full_access' })
  const headers = { authorization: `Bearer ${token}` }
  const found = await ask(`${api.url}/emails/search?id=${id}`, 'GET', undefined, headers)
  expect((found.json as Search).data).toEqual([])
  const csv = await ask(`${api.url}/emails/export.csv?subject=secret`, 'GET', undefined, headers)
  expect(csv.text.trim().split('\r\n')).toHaveLength(1)
  const told = await ask(`${api.url}/emails/${id}/webhooks`, 'GET', undefined, headers)
  expect(told.status).toBe(404)
  const resent = await ask(`${api.url}/emails/${id}/resend`, 'POST', undefined, headers)
  expect([resent.status, resent.text]).toEqual([404, errorText(404, 'not_found', 'Email not found')])
})

test('GET /emails/:id/webhooks returns an empty list if the team has no webhooks', async () => {
  const { status, json } = await api.call('GET', `/emails/${await send()}/webhooks`)
  expect([status, json]).toEqual([200, { object: 'list', has_more: false, data: [] }])
})
