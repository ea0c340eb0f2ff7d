import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask, errorText, startApi, type Api } from './harness.ts'

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

const id = '0199c0de-0000-7000-8000-000000000000'

test.each([
  ['GET', '/domains/claims', 'claiming domains'],
  ['POST', '/domains/claim', 'claiming domains'],
  ['GET', `/domains/${id}/claim`, 'claiming domains'],
  ['POST', `/domains/${id}/claim/verify`, 'claiming domains'],
  ['GET', '/oauth/grants?limit=1', 'OAuth grants'],
])('%s %s returns 404 with the unsupported feature', async (method, path, feature) => {
  const { status, text, headers } = await api.call(method, path, method === 'GET' ? undefined : {})
  const message = `The requested endpoint does not exist: this server version does not support ${feature}.`
  expect([status, text]).toEqual([404, errorText(404, 'not_found', message)])
  expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
  expect(headers.get('ratelimit-limit')).toMatch(/^\d+$/)
})

test.each(['/contactsx', '/domain/claims', '/emails/receivingx', '/oauth'])(
  '%s returns 404 without a feature name',
  async (path) => {
    const { json } = await api.call('GET', path)
    expect(json).not.toMatchObject({ message: expect.stringContaining('this server version') as string })
  },
)

test('unsupported endpoints require a key', async () => {
  expect((await ask(`${api.url}/domains/claims`, 'GET')).status).toBe(401)
  expect((await ask(`${api.url}/inboxes`, 'GET')).status).toBe(404)
})
