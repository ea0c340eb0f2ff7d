import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { errorText, hello, startApi, type Api } from './harness.ts'

let api: Api
let before = 0
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())
beforeEach(async () => {
  before = await api.count()
})

const send = (body: unknown, mode?: string, headers: Record<string, string> = {}) =>
  api.call('POST', '/emails/batch', body, {
    ...headers,
    ...(mode === undefined ? {} : { 'x-batch-validation': mode }),
  })
const stored = async () => (await api.count()) - before
const many = (count: number) => Array.from({ length: count }, (_, i) => ({ ...hello, subject: `No. ${i}` }))
const { to: _to, ...nobody } = hello

describe('a batch', () => {
  test('a batch of 100 emails is stored completely, and the IDs are returned in order', async () => {
    const { status, json } = await send(many(100))
    expect(status).toBe(200)
    const { data, ...rest } = json as { data: { id: string }[] }
    expect(rest).toEqual({})
    const emails = await Promise.all(
      data.map(({ id }) => api.storage.getEmail({ teamId: api.teamId, id }, api.clock.now())),
    )
    expect(emails.map((email) => email!.subject)).toEqual(many(100).map(({ subject }) => subject))
    expect(await stored()).toBe(100)
  })

  test('a batch accepts tags, scheduled_at and a sending key', async () => {
    const tags = [{ name: 'kind', value: 'batch' }]
    const authorization = `Bearer ${api.sending}`
    const { json } = await send([{ ...hello, tags, scheduled_at: 'in 1 hour' }], 'strict', { authorization })
    const [{ id }] = (json as { data: [{ id: string }] }).data
    const { json: email } = await api.call('GET', `/emails/${id}`)
    expect(email).toMatchObject({ tags, last_event: 'scheduled' })
  })

  test.each([
    [{}, 'The `request.body` field must be an `array`.'],
    [{ 0: hello }, 'The `request.body` field must be an `array`.'],
    ['null', 'The `request.body` field must be an `array`.'],
    [undefined, 'The `request.body` field must be an `array`.'],
    [[], 'Invalid `request.body` field: 1 to 100 emails.'],
    [many(101), 'Invalid `request.body` field: 1 to 100 emails.'],
  ])('rejects a batch that is not a list of 1 to 100 emails: case %#', async (body, message) => {
    const { text } = await send(body)
    expect(text).toBe(errorText(422, 'validation_error', message))
    expect(await stored()).toBe(0)
  })

  test('rejects a batch with an unknown validation mode', async () => {
    const { text } = await send([hello], 'lax')
    expect(text).toBe(
      errorText(422, 'validation_error', 'Invalid `x-batch-validation`: strict or permissive.'),
    )
  })

  test('a batch sent twice with one idempotency key is stored once, and rejected in another mode', async () => {
    const headers = { 'idempotency-key': 'batch/1' }
    const first = await send([hello, nobody], 'permissive', headers)
    const again = await send([hello, nobody], 'permissive', headers)
    expect([again.status, again.text]).toEqual([200, first.text])
    expect((await send([hello, nobody], 'strict', headers)).status).toBe(409)
    expect(await stored()).toBe(1)
  })
})

const bad: [string, unknown, number, string, string][] = [
  ['without a recipient', nobody, 422, 'missing_required_field', 'Missing `to` field.'],
  ['that is null', null, 422, 'validation_error', 'Invalid `request.body` field: it must be an object.'],
  [
    'with a wrong type',
    { ...hello, subject: 5 },
    422,
    'validation_error',
    'Invalid `subject` field: it must be a string.',
  ],
  [
    'with attachments',
    { ...hello, attachments: [{ content: 'QQ==' }] },
    422,
    'validation_error',
    'The `attachments` field is not supported in batches. Send this email with a separate request.',
  ],
  [
    'with an unknown template',
    { to: 'bob@example.com', template: { id: 'x' } },
    404,
    'not_found',
    'Template not found',
  ],
  [
    'scheduled for yesterday',
    { ...hello, scheduled_at: 'yesterday' },
    422,
    'validation_error',
    'The `scheduled_at` field must be a future date',
  ],
  [
    'from an unverified domain',
    { ...hello, from: 'hi@new.example' },
    403,
    'validation_error',
    'The new.example domain is not verified. Publish its DNS records and verify it before sending.',
  ],
]

describe('an email of a batch', () => {
  test.each(bad)(
    '%s rejects the whole batch in strict mode, with its index',
    async (_what, item, status, name, message) => {
      for (const mode of [undefined, 'strict', 'Strict']) {
        const { text } = await send([hello, hello, item, hello], mode)
        expect(text).toBe(errorText(status, name, `Email at index 2: ${message}`))
      }
      expect(await stored()).toBe(0)
    },
  )

  test.each(bad)(
    '%s is skipped in permissive mode, and reported with its index',
    async (_what, item, _status, _name, message) => {
      const { status, json } = await send([item, hello, item, hello], 'permissive')
      expect(status).toBe(200)
      expect(json).toEqual({
        data: [{ id: expect.any(String) as string }, { id: expect.any(String) as string }],
        errors: [
          { index: 0, message },
          { index: 2, message },
        ],
      })
      expect(await stored()).toBe(2)
    },
  )
})

test('a permissive batch returns no errors if all emails are valid, and sends nothing if none is', async () => {
  expect((await send([hello], 'permissive')).json).toMatchObject({ errors: [] })
  const { status, json } = await send([nobody], 'permissive')
  expect([status, json]).toEqual([200, { data: [], errors: [{ index: 0, message: 'Missing `to` field.' }] }])
  expect(await stored()).toBe(1)
})
