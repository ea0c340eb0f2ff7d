import { Webhook as Svix } from 'svix'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startReceiver, type Receiver } from '../world/receiver.ts'
import { openStage, type Stage } from './webhook-stage.ts'

/** Tests events about contacts and topics, as an app receives and verifies them. */

const EVENTS = [
  ...(['contact.created', 'contact.updated', 'contact.deleted', 'contact.topics.updated'] as const),
  ...(['topic.created', 'topic.updated', 'topic.deleted'] as const),
]

let stage: Stage
let receiver: Receiver
let secret: string
beforeAll(async () => {
  stage = await openStage()
  receiver = await startReceiver()
  const endpoint = { endpoint: receiver.url, events: EVENTS }
  const made = await stage.appliance.call<{ signing_secret: string }>('POST', '/webhooks', endpoint)
  expect(made.status).toBe(201)
  secret = made.body.signing_secret
})
afterAll(async () => {
  await receiver.close()
  await stage.close()
})

async function done<T>(asked: Promise<{ data: T | null; error: unknown }>): Promise<T> {
  const { data, error } = await asked
  expect(error).toBeNull()
  return data!
}

test('each change of a contact or topic sends one event, which svix verifies', async () => {
  const { contacts, segments, topics } = stage.client()
  const segment = await done(segments.create({ name: 'Readers' }))
  const topic = await done(topics.create({ name: 'News', defaultSubscription: 'opt_in' }))
  await done(topics.update({ id: topic.id, name: 'Weekly news' }))
  const email = 'ada@reader.test'
  const about = { email, firstName: 'Ada', segments: [{ id: segment.id }] }
  const { id } = await done(contacts.create(about))
  await done(contacts.update({ id, unsubscribed: true }))
  const choices = [{ id: topic.id, subscription: 'opt_out' as const }]
  await done(contacts.topics.update({ id, topics: choices }))
  await done(contacts.remove({ id }))
  await done(topics.remove(topic.id))

  const received = await receiver.waitFor(EVENTS.length)
  const told = received.map(({ body, headers }) => {
    new Svix(secret).verify(body, headers)
    const forged = body.replace('Ada', 'Eve').replace('News', 'Spam').replace('opt_out', 'opt_in')
    if (forged !== body) expect(() => new Svix(secret).verify(forged, headers)).toThrow()
    return JSON.parse(body) as { type: (typeof EVENTS)[number]; data: Record<string, unknown> }
  })
  expect(told.map(({ type }) => type).toSorted()).toEqual(EVENTS.toSorted())
  const dataOf = (type: (typeof EVENTS)[number]) => told.find((one) => one.type === type)!.data
  const contact = { id, email, audience_id: segment.id, segment_ids: [segment.id], first_name: 'Ada' }
  expect(dataOf('contact.created')).toMatchObject({ ...contact, unsubscribed: false })
  expect(dataOf('contact.updated')).toMatchObject({ ...contact, unsubscribed: true })
  expect(dataOf('contact.deleted')).toMatchObject({ id, email })
  expect(dataOf('contact.topics.updated')).toMatchObject({ email, topics: choices })
  const shown = { id: topic.id, default_subscription: 'opt_in', description: null }
  expect(dataOf('topic.created')).toMatchObject({ ...shown, name: 'News', deleted: false })
  expect(dataOf('topic.updated')).toMatchObject({ ...shown, name: 'Weekly news', deleted: false })
  expect(dataOf('topic.deleted')).toMatchObject({ ...shown, name: 'Weekly news', deleted: true })
})
