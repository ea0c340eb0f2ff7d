import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ContactsCounted } from '../../../appliance/api/contact-batches.ts'
import { startApi, type Api } from './harness.ts'

/** More contacts than one request may scan for a count. */

const CONTACTS = 41_000
const LEFT = CONTACTS / 10

let api: Api
beforeAll(async () => {
  api = await startApi()
  const name = (n: number) => (n % 10 === 0 ? 'Leaver' : 'Stayer')
  const rows = Array.from({ length: CONTACTS }, (_, n) => `user${n}@many.example,${name(n)}`)
  const form = new FormData()
  form.set('file', new Blob([`email,first_name\n${rows.join('\n')}\n`]), 'many.csv')
  const headers = { authorization: `Bearer ${api.full}` }
  const response = await fetch(`${api.url}/contacts/imports`, { method: 'POST', body: form, headers })
  const { id } = (await response.json()) as { id: string }
  const done = async () =>
    ((await api.call('GET', `/contacts/imports/${id}`)).json as { status: string }).status === 'completed'
  while (!(await done()));
}, 120_000)
afterAll(() => api.close())

const filter = { type: 'rule', field: 'contact.first_name', operator: 'eq', value: 'leaver' }

test('counting contacts takes several requests, and their counts add up to the total', async () => {
  let sum = 0
  let requests = 0
  for (let after: string | null = null; ;) {
    const { json } = await api.call('POST', '/contacts/batch/count', { filter: { rules: filter }, after })
    const part = json as ContactsCounted
    if (requests === 0) expect(part.sample).toHaveLength(5)
    sum += part.contacts
    requests += 1
    after = part.next
    if (after === null) break
  }
  expect([sum, requests]).toEqual([LEFT, 2])
  const wrong = await api.call('POST', '/contacts/batch/count', { filter: {}, after: 'x' })
  expect(wrong.status).toBe(422)
})

test('a segment shows its previous size while its contacts are counted again', async () => {
  const { json } = await api.call('POST', '/segments', { name: 'Leavers', filter })
  const { id } = json as { id: string }
  const read = async () =>
    (await api.call('GET', `/segments/${id}`)).json as { contacts: number; counted_at: string | null }
  expect(await read()).toMatchObject({ contacts: 0, counted_at: null })
  let found = await read()
  while (found.counted_at === null) found = await read()
  expect(found.contacts).toBe(LEFT)

  await api.clock.advance(61_000)
  const counted = found.counted_at
  await api.call('DELETE', '/contacts/user0@many.example')
  expect(await read()).toEqual({ ...found, counted_at: counted })
  while (found.counted_at === counted) found = await read()
  expect(found.contacts).toBe(LEFT - 1)
})

test('a search for a complete address finds its contact among many', async () => {
  expect((await api.call('GET', '/contacts/search?text=user1%40many.example')).json).toMatchObject({
    data: [{ email: 'user1@many.example' }],
    next: null,
  })
})
