import { expect, test } from 'vitest'
import { presentWebhookEvent } from '../../../appliance/api/webhook-payloads.ts'
import type { EventData } from '../../../appliance/mail/event.ts'

const present = (type: string, data: EventData) =>
  presentWebhookEvent({
    id: 'e',
    cursor: { xid: 0, seq: 1 },
    teamId: 'team',
    type: type,
    createdAt: 1000,
    emailId: null,
    email: null,
    data,
  })

const times = { createdAt: 0, updatedAt: 1000 }
const shown = { created_at: '1970-01-01T00:00:00.000Z', updated_at: '1970-01-01T00:00:01.000Z' }

test('a contact payload omits empty names, and has an audience_id', () => {
  const contact = { id: 'c', email: 'ada@example.com', firstName: 'Ada', lastName: null, unsubscribed: false }
  expect(present('contact.created', { contact: { ...contact, ...times, segmentIds: ['s1', 's2'] } })).toEqual(
    {
      type: 'contact.created',
      created_at: '1970-01-01T00:00:01.000Z',
      data: {
        id: 'c',
        audience_id: 's1',
        segment_ids: ['s1', 's2'],
        ...shown,
        email: 'ada@example.com',
        first_name: 'Ada',
        unsubscribed: false,
      },
    },
  )
  expect(present('contact.deleted', { contact: { ...contact, ...times, segmentIds: [] } })).toMatchObject({
    data: { audience_id: 'team', segment_ids: [] },
  })
})

test('topic payloads contain the topic, or the choices of a contact', () => {
  const topic = { id: 't', name: 'News', description: null, defaultSubscription: 'opt_in' as const }
  expect(present('topic.deleted', { topic: { ...topic, ...times, deleted: true } }).data).toEqual({
    id: 't',
    name: 'News',
    description: null,
    default_subscription: 'opt_in',
    deleted: true,
    ...shown,
  })
  const choices = { email: 'ada@example.com', topics: [{ id: 't', subscription: 'opt_out' as const }] }
  expect(present('contact.topics.updated', { choices }).data).toEqual(choices)
})
