import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '../../../appliance/mail/ids.ts'
import { errorText, hello, startApi, type Api } from './harness.ts'

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

interface Made {
  id: string
  token: string
}
const make = async (body: Record<string, unknown>): Promise<Made> => {
  const { status, json } = await api.call('POST', '/api-keys', body)
  expect(status).toBe(201)
  return json as Made
}
const by = (token: string) => ({ authorization: `Bearer ${token}` })

test('a new API key is returned once, and has full access by default', async () => {
  const made = await make({ name: 'Production' })
  expect(made).toEqual({
    object: 'api_key',
    id: expect.any(String) as unknown,
    token: expect.stringMatching(/^re_/) as unknown,
  })
  expect((await api.call('GET', '/api-keys', undefined, by(made.token))).status).toBe(200)
  const { text } = await api.call('GET', '/api-keys')
  expect(text).not.toContain(made.token)
  const { data } = JSON.parse(text) as { data: object[] }
  expect(data[0]).toEqual({
    id: made.id,
    name: 'Production',
    created_at: expect.stringMatching(/\+00$/) as unknown,
    last_used_at: null,
    permission: 'full_access',
    domain_id: null,
    prefix: made.token.slice(0, 11),
  })
})

test('the list of API keys shows only the prefix of a token', async () => {
  const { token } = await make({ name: 'Prefix' })
  const [, first, secret] = /^(re_\w{8})_(\w{32})$/.exec(token)!
  const { text } = await api.call('GET', '/api-keys')
  expect(text).toContain(`"${first}"`)
  for (let at = 0; at < secret!.length; at += 8) expect(text).not.toContain(secret!.slice(at, at + 8))
})

test('lists all API keys without a limit, and one page with a limit', async () => {
  for (let count = 0; count < 22; count++) await make({ name: '' })
  const list = async (query: string) =>
    (await api.call('GET', `/api-keys${query}`)).json as { has_more: boolean; data: { id: string }[] }
  const all = await list('')
  expect(all.has_more).toBe(false)
  expect(all.data.length).toBeGreaterThan(22)
  const page = await list(`?limit=2&after=${all.data[1]!.id}`)
  expect(page).toMatchObject({ object: 'list', has_more: true, data: all.data.slice(2, 4) })
})

test('a null or empty permission or domain_id counts as unset', async () => {
  for (const nothing of [null, '']) {
    const { id } = await make({ name: 'unset', permission: nothing, domain_id: nothing })
    const { json } = await api.call('GET', '/api-keys?limit=1')
    expect(json).toMatchObject({ data: [{ id, permission: 'full_access', domain_id: null }] })
  }
})

test.each([
  [{}, 422, 'missing_required_field', 'Missing `name` field.'],
  [{ name: 'x'.repeat(51) }, 422, 'validation_error', 'Invalid `name` field: at most 50 characters.'],
  [
    { name: 'a\0b' },
    422,
    'validation_error',
    'Invalid `name` field: it must not contain line breaks or NUL.',
  ],
  [
    { name: 'a\nb' },
    422,
    'validation_error',
    'Invalid `name` field: it must not contain line breaks or NUL.',
  ],
  [
    { name: 'a\u001bb' },
    422,
    'validation_error',
    'Invalid `name` field: it must not contain control characters.',
  ],
  [
    { name: 'x', permission: 'root' },
    422,
    'invalid_access',
    'Access must be "full_access" | "sending_access".',
  ],
  [
    { name: 'x', domain_id: newId(0) },
    422,
    'validation_error',
    'Invalid `domain_id` field: only with sending_access.',
  ],
  [{ name: 'x', permission: 'sending_access', domain_id: newId(0) }, 404, 'not_found', 'Domain not found'],
  [
    { name: 'x', permission: 'sending_access', domain_id: 'acme' },
    422,
    'validation_error',
    'The `domain_id` must be a valid UUID.',
  ],
])('rejects an API key of %j with %i', async (body, status, name, message) => {
  expect((await api.call('POST', '/api-keys', body)).text).toBe(errorText(status, name, message))
})

test('a key restricted to a domain can send from it, and do nothing else', async () => {
  const { token } = await make({ name: 'x', permission: 'sending_access', domain_id: api.domain.id })
  expect((await api.call('POST', '/emails', hello, by(token))).status).toBe(200)
  const restricted = errorText(401, 'restricted_api_key', 'This API key is restricted to only send emails.')
  for (const [method, path] of [
    ['GET', '/domains'],
    ['POST', '/domains'],
    ['GET', '/api-keys'],
    ['POST', '/api-keys'],
    ['DELETE', `/api-keys/${newId(0)}`],
    ['GET', '/suppressions'],
    ['POST', '/suppressions'],
  ] as const)
    expect((await api.call(method, path, method === 'POST' ? {} : undefined, by(token))).text).toBe(
      restricted,
    )
})

test('renames an API key', async () => {
  const { id } = await make({ name: 'before' })
  expect((await api.call('PATCH', `/api-keys/${id}`, { name: 'after' })).json).toEqual({
    object: 'api_key',
    id,
  })
  expect((await api.call('GET', '/api-keys?limit=1')).json).toMatchObject({ data: [{ id, name: 'after' }] })
  expect((await api.call('PATCH', `/api-keys/${id}`, { name: 'x'.repeat(51) })).status).toBe(422)
  expect((await api.call('PATCH', `/api-keys/${id}`, { name: 'a\0b' })).status).toBe(422)
  expect((await api.call('PATCH', `/api-keys/${newId(0)}`, { name: 'x' })).text).toBe(
    errorText(404, 'not_found', 'API key not found'),
  )
})

test('an API key can delete itself, and stops working at once', async () => {
  const { id, token } = await make({ name: 'short-lived' })
  expect((await api.call('DELETE', `/api-keys/${id}`, undefined, by(token))).json).toEqual({
    object: 'api_key',
    id,
    deleted: true,
  })
  expect((await api.call('GET', '/domains', undefined, by(token))).text).toBe(
    errorText(403, 'invalid_api_key', 'API key is invalid.'),
  )
  expect((await api.call('DELETE', `/api-keys/${id}`)).text).toBe(
    errorText(404, 'not_found', 'API key not found'),
  )
})
