import { expect, test } from 'vitest'
import { createDeliveries, createReplays } from '../../../appliance/events/fan-out.ts'
import type { OutboxEvent, Webhook } from '../../../appliance/storage/storage.ts'

const webhook = (id: string, more: Partial<Webhook> = {}): Webhook => ({
  id,
  teamId: 't1',
  endpoint: 'https://a.example',
  events: ['email.sent'],
  status: 'enabled',
  secret: 'whsec_AAAA',
  oldSecret: null,
  createdAt: 100,
  succeededAt: null,
  failingSince: null,
  disabled: null,
  broadcasts: true,
  ...more,
})
const event = (seq: number, more: Partial<OutboxEvent> = {}): OutboxEvent => ({
  cursor: { xid: 0, seq },
  id: `e${seq}`,
  teamId: 't1',
  emailId: null,
  type: 'email.sent',
  createdAt: 100,
  data: {},
  email: null,
  ...more,
})

test('events go to the subscribed webhooks of the team, in the order of the events', () => {
  const webhooks = [
    webhook('w1'),
    webhook('w2', { events: ['email.bounced'] }),
    webhook('w3', { teamId: 't2' }),
  ]
  const events = [event(1), event(2, { type: 'email.bounced' }), event(3, { teamId: 't2' }), event(4)]
  const made = createDeliveries(events, webhooks, 200)
  expect(made.map(({ webhookId, eventId }) => [webhookId, eventId])).toEqual([
    ['w1', 'e1'],
    ['w2', 'e2'],
    ['w3', 'e3'],
    ['w1', 'e4'],
  ])
  const ids = made.map(({ id }) => id)
  expect(ids.toSorted()).toEqual(ids)
  expect(ids[0]).toMatch(/^msg_[0-9a-f]{32}$/)
})

test('a webhook without broadcasts gets no events of broadcast emails', () => {
  const email = {
    via: 'rest' as const,
    from: 'a',
    to: ['b'],
    subject: 's',
    messageId: 'm',
    tags: [],
    headers: [],
    createdAt: 1,
    templateId: null,
  }
  const events = [
    event(1, { emailId: 'x', email: { ...email, broadcastId: 'b1' } }),
    event(2, { emailId: 'y', email: { ...email, broadcastId: null } }),
    event(3),
  ]
  const without = webhook('w2', { broadcasts: false })
  const made = createDeliveries(events, [webhook('w1'), without], 200)
  const heard = (id: string) => made.flatMap((one) => (one.webhookId === id ? [one.eventId] : []))
  expect([heard('w1'), heard('w2')]).toEqual([
    ['e1', 'e2', 'e3'],
    ['e2', 'e3'],
  ])
  expect(createReplays(events, without, 200).map(({ eventId }) => eventId)).toEqual(['e2', 'e3'])
})

test('an endpoint gets no events from before it was created', () => {
  expect(createDeliveries([event(1, { createdAt: 99 })], [webhook('w1')], 200)).toEqual([])
})

test('no webhook gets events of reports that the server itself sends', () => {
  const email = {
    via: 'report' as const,
    from: 'a',
    to: ['b'],
    subject: 's',
    messageId: 'm',
    tags: [],
    headers: [],
    createdAt: 1,
    templateId: null,
    broadcastId: null,
  }
  expect(createDeliveries([event(1, { emailId: 'x', email })], [webhook('w1')], 200)).toEqual([])
})
