import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask, hello, startApi, type Api } from './harness.ts'

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

const get = (path: string, match?: string, method = 'GET') =>
  api.call(method, path, undefined, match === undefined ? {} : { 'if-none-match': match })

test('a GET response has a weak ETag, which changes only when the response changes', async () => {
  const { headers } = await get('/emails')
  expect(headers.get('etag')).toMatch(/^W\/"[0-9a-f]+-[\w-]{27}"$/)
  expect((await get('/emails')).headers.get('etag')).toBe(headers.get('etag'))
  await api.call('POST', '/emails', hello)
  expect((await get('/emails')).headers.get('etag')).not.toBe(headers.get('etag'))
})

test('GET returns 304 without a body if If-None-Match has the ETag', async () => {
  const first = await get('/domains')
  const tag = first.headers.get('etag')!
  for (const match of [tag, tag.slice(2), '*', `"other", ${tag}`]) {
    const { status, text, headers } = await get('/domains', match)
    expect([status, text]).toEqual([304, ''])
    expect(headers.get('etag')).toBe(tag)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('ratelimit-limit')).toMatch(/^\d+$/)
    expect([headers.get('content-type'), headers.get('content-length')]).toEqual([null, null])
  }
  for (const match of ['"other"', '', tag.slice(0, -1)]) {
    const { status, text } = await get('/domains', match)
    expect([status, text]).toEqual([200, first.text])
  }
})

test('HEAD returns the same ETag and length as GET', async () => {
  const { headers } = await get('/domains')
  const tag = headers.get('etag')!
  for (const [match, status] of [
    [undefined, 200],
    [tag, 304],
  ] as const) {
    const head = await get('/domains', match, 'HEAD')
    expect([head.status, head.headers.get('etag')]).toEqual([status, tag])
    expect(head.headers.get('content-length')).toBe(headers.get('content-length'))
  }
})

test('responses to changes, errors and files have no ETag', async () => {
  const sent = await api.call('POST', '/emails', hello)
  const { id } = sent.json as { id: string }
  const answers = [
    sent,
    await get('/emails/nobody'),
    await get('/nowhere'),
    await ask(`${api.url}/emails`, 'GET'),
    await get(`/emails/${id}/source`),
    await get('/suppressions/export'),
  ]
  expect(answers.map(({ headers }) => headers.get('etag'))).toEqual(answers.map(() => null))
})
