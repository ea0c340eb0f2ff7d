import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Static } from 'typebox'
import type { PersonData } from '../../../appliance/api/person.ts'
import { newId } from '../../../appliance/mail/ids.ts'
import { hello, startApi, type Api } from './harness.ts'

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

const make = async (path: string, body: unknown): Promise<string> => {
  const { status, json } = await api.call('POST', path, body)
  expect([path, status]).toEqual([path, 201])
  return (json as { id: string }).id
}
const exported = async (contact: string): Promise<Static<typeof PersonData>> => {
  const { status, json } = await api.call('GET', `/contacts/${contact}/export.json`)
  expect(status).toBe(200)
  return json as Static<typeof PersonData>
}

test('the export of a contact contains all data stored about it, and no data of other contacts', async () => {
  const email = 'ada@person.example'
  await make('/contact-properties', { key: 'plan', type: 'string' })
  const segment = await make('/segments', { name: 'VIP' })
  const topic = await make('/topics', { name: 'News', default_subscription: 'opt_in' })
  const about = { first_name: 'Ada', properties: { plan: 'pro' }, segments: [segment] }
  const id = await make('/contacts', { email, ...about, topics: [{ id: topic, subscription: 'opt_out' }] })
  await make('/contacts', { email: 'eve@person.example', first_name: 'Eve' })
  const sent = await api.call('POST', '/emails', { ...hello, to: email, subject: 'For Ada' })
  await api.call('POST', '/emails', { ...hello, to: 'eve@person.example', subject: 'For Eve' })
  const mail = (sent.json as { id: string }).id
  await api.call('PATCH', `/contacts/${id}`, { unsubscribed: true })
  await make('/suppressions', { email })

  const found = await exported(id)
  expect(found).toMatchObject({
    object: 'person_data',
    address: email,
    unsubscribed: true,
    contact: { id, email, first_name: 'Ada', properties: { plan: { type: 'string', value: 'pro' } } },
    segments: [{ id: segment, name: 'VIP' }],
    topics: [{ id: topic, subscription: 'opt_out', chosen_by: 'api' }],
    suppression: { email },
    emails: [{ id: mail, subject: 'For Ada', timeline: { deliveries: [{ recipient: email }] } }],
    kept: { contacts: 1, consents: 2, emails: 1, suppressions: 1 },
  })
  expect(found.consents.map(({ topic_id: about, subscription }) => [about, subscription])).toEqual([
    [null, 'opt_out'],
    [topic, 'opt_out'],
  ])
  expect(JSON.stringify(found)).not.toContain('eve@')
  expect(await exported('ADA@person.example')).toMatchObject({ contact: { id }, emails: [{ id: mail }] })
})

test('the data of an address can be exported after its contact was deleted', async () => {
  const email = 'bob@person.example'
  await make('/contacts', { email, unsubscribed: true })
  await api.call('DELETE', `/contacts/${email}`)
  expect(await exported(email)).toMatchObject({
    address: email,
    contact: null,
    segments: [],
    topics: [],
    suppression: null,
    emails: [],
    unsubscribed: true,
    consents: [{ topic_id: null, subscription: 'opt_out', origin: 'api' }],
  })
  for (const unknown of [newId(0), 'nobody'])
    expect((await api.call('GET', `/contacts/${unknown}/export.json`)).status).toBe(404)
})
