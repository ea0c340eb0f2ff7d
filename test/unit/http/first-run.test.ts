import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../../appliance/mail/ids.ts'
import { ask, errorText, startApi, type Api } from './harness.ts'

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

const OTHER = {
  email: 'eve@acme.example',
  password: 'quiet harbour lanterns',
  team_name: 'Thieves',
  token: 'x',
}
const setUp = (body: unknown, headers: Record<string, string> = {}) =>
  ask(`${api.url}/setup`, 'POST', body, headers)

describe('setup', () => {
  test('GET /setup reports without a key that setup is closed', async () => {
    const { status, json } = await ask(`${api.url}/setup`, 'GET')
    expect([status, json]).toEqual([200, { object: 'setup', open: false }])
  })

  test('setup is rejected without a valid link, and sets no cookie', async () => {
    const answer = await setUp(OTHER)
    expect(answer.text).toBe(
      errorText(
        403,
        'validation_error',
        'This setup link is invalid, expired or already used. Restart Posthaste to get a new link, valid for 24 hours.',
      ),
    )
    expect(answer.headers.getSetCookie()).toEqual([])
  })

  test('setup is rejected from other sites, and with a body that is too large or lacks a field', async () => {
    expect((await setUp(OTHER, { origin: 'https://evil.example' })).status).toBe(403)
    expect((await setUp({ ...OTHER, password: 'x'.repeat(20_000) })).status).toBe(413)
    expect((await setUp({ ...OTHER, token: undefined })).status).toBe(422)
  })

  test('setup is limited to ten attempts a minute from one network', async () => {
    await api.clock.advance(61_000)
    for (let tried = 0; tried < 10; tried++) expect((await setUp(OTHER)).status).toBe(403)
    const { status, headers } = await setUp(OTHER)
    expect([status, headers.get('retry-after')]).toEqual([429, '60'])
  })
})

describe('GET /domains/:id/propagation', () => {
  test('lists all records, with a temporary failure if no name server could be queried', async () => {
    const { status, json } = await api.call('GET', `/domains/${api.domain.id}/propagation`)
    expect(status).toBe(200)
    expect(json).toMatchObject({ object: 'propagation', domain_id: api.domain.id })
    const { records } = json as { records: { type: string; status: string; servers: unknown[] }[] }
    expect(records.map(({ type }) => type)).toEqual(['TXT', 'TXT', 'MX', 'TXT', 'TXT'])
    expect(new Set(records.map((one) => one.status))).toEqual(new Set(['temporary_failure']))
    expect(records.flatMap(({ servers }) => servers)).toEqual([])
  })

  test('rejects requests without a key, sending keys and unknown domains', async () => {
    const path = `${api.url}/domains/${api.domain.id}/propagation`
    expect((await ask(path, 'GET')).status).toBe(401)
    expect((await ask(path, 'GET', undefined, { authorization: `Bearer ${api.sending}` })).status).toBe(401)
    expect((await api.call('GET', `/domains/${newId(0)}/propagation`)).status).toBe(404)
  })
})

test('GET /doctor?wait=false returns at once, and values other than true and false are rejected', async () => {
  const { status, json } = await api.call('GET', '/doctor?wait=false')
  expect([status, json]).toMatchObject([200, { object: 'doctor', checks: [] }])
  expect((await api.call('GET', '/doctor?wait=perhaps')).text).toBe(
    errorText(422, 'validation_error', 'Invalid `wait`: true or false.'),
  )
})
