import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type Api } from './harness.ts'

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

const made = async (endpoint: string): Promise<string> => {
  const { status, json } = await api.call('POST', '/webhooks', { endpoint, events: ['email.sent'] })
  expect(status).toBe(201)
  return (json as { id: string }).id
}
const read = async (id: string) => (await api.call('GET', `/webhooks/${id}`)).json

test('white space around an endpoint is no part of it', async () => {
  const id = await made(' https://hooks.example/a\n')
  expect(await read(id)).toMatchObject({ endpoint: 'https://hooks.example/a' })
  await api.call('PATCH', `/webhooks/${id}`, { endpoint: '\thttps://hooks.example/b ' })
  expect(await read(id)).toMatchObject({ endpoint: 'https://hooks.example/b' })
})

test('what is null in a change stays, as typed clients write it', async () => {
  const id = await made('https://hooks.example/null')
  const before = await read(id)
  const nothing = { endpoint: null, events: null, status: null }
  const { status, json } = await api.call('PATCH', `/webhooks/${id}`, nothing)
  expect([status, json]).toEqual([200, { object: 'webhook', id }])
  expect(await read(id)).toEqual(before)
})
