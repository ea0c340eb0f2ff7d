import addFormats from 'ajv-formats'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { EMAIL_EVENTS, OTHER_EVENTS, type EventData } from '../../../appliance/mail/event.ts'
import type { EventReceivedEmail } from '../../../appliance/mail/inbound.ts'
import type { OutboxEvent } from '../../../appliance/storage/storage.ts'
import { presentPing, presentWebhookEvent } from '../../../appliance/api/webhook-payloads.ts'

interface Document {
  webhooks: Record<
    string,
    { post: { requestBody: { content: { 'application/json': { schema: { $ref: string } } } } } }
  >
  components: object
}
const file = join(import.meta.dirname, '../../conformance/openapi-upstream.yaml')
const upstream = parse(readFileSync(file, 'utf8')) as Document

/** Validates an event against the hosted service's own description. Returns the errors. */
function complaints(type: string, payload: unknown): unknown {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  addFormats.default(ajv)
  const { $ref } = upstream.webhooks[type]!.post.requestBody.content['application/json'].schema
  const validate = ajv.compile({ $ref, components: upstream.components })
  validate(payload)
  return validate.errors
}

const recipient = 'ada@customer.test'
const data: Partial<Record<string, EventData>> = {
  'email.delivered': { recipient },
  'email.delivery_delayed': { recipient, delay: { attempt: 1, nextAttemptAt: 5 } },
  'email.bounced': {
    recipient,
    bounce: {
      type: 'Permanent',
      subType: 'NoEmail',
      message: 'There is no such mailbox.',
      suppress: true,
      diagnosticCode: ['smtp; 550 5.1.1 user unknown'],
    },
  },
  'email.failed': { recipient, failed: { reason: 'dropped by an operator' } },
  'email.suppressed': {
    recipient,
    suppressed: { message: 'It bounced before.', type: 'Suppressed', reason: 'previous_bounce' },
  },
  'email.clicked': {
    recipient,
    click: {
      ipAddress: '192.0.2.1',
      link: 'https://a.example/',
      timestamp: '2026-11-20T08:00:00.000Z',
      userAgent: 'Mozilla/5.0',
    },
  },
}

const event = (type: string, more: Partial<OutboxEvent> = {}): OutboxEvent => ({
  cursor: { xid: 0, seq: 1 },
  id: 'e',
  teamId: 't',
  emailId: '019aa7b1-c1f0-7c6e-8f6a-3d1b2c4e5f60',
  type,
  createdAt: Date.UTC(2026, 10, 20, 8, 0, 0, 126),
  data: data[type] ?? {},
  email: {
    via: 'rest',
    from: 'Acme <a@acme.example>',
    to: ['Ada <ada@customer.test>', 'b@customer.test'],
    subject: 'Grüße',
    messageId: '<x@acme.example>',
    createdAt: Date.UTC(2026, 10, 20, 7),
    broadcastId: '019aa7b1-c1f0-7c6e-8f6a-3d1b2c4e5f62',
    templateId: '019aa7b1-c1f0-7c6e-8f6a-3d1b2c4e5f61',
    tags: [{ name: 'kind', value: 'welcome' }],
    headers: [{ name: 'X-Order', value: '7' }],
  },
  ...more,
})

describe('the webhook payload', () => {
  const types = [...new Set([...EMAIL_EVENTS, 'email.opened', 'email.clicked', 'email.complained'])]

  test.each(types.filter((type) => upstream.webhooks[type]))(
    'the webhook payload of %s matches the hosted service’s schema',
    (type) => {
      const payload = presentWebhookEvent(event(type))
      expect(complaints(type, payload)).toBeNull()
      expect(Object.keys(payload)).toEqual(['type', 'created_at', 'data'])
      expect(payload.created_at).toBe('2026-11-20T08:00:00.126Z')
    },
  )

  test('the webhook payload of a bounce has all fields of the email, and only the bounced recipient', () => {
    expect(presentWebhookEvent(event('email.bounced')).data).toEqual({
      email_id: '019aa7b1-c1f0-7c6e-8f6a-3d1b2c4e5f60',
      message_id: '<x@acme.example>',
      created_at: '2026-11-20T07:00:00.000Z',
      from: 'Acme <a@acme.example>',
      to: ['ada@customer.test'],
      subject: 'Grüße',
      broadcast_id: '019aa7b1-c1f0-7c6e-8f6a-3d1b2c4e5f62',
      template_id: '019aa7b1-c1f0-7c6e-8f6a-3d1b2c4e5f61',
      tags: { kind: 'welcome' },
      headers: [{ name: 'X-Order', value: '7' }],
      bounce: {
        type: 'Permanent',
        subType: 'NoEmail',
        message: 'There is no such mailbox.',
        diagnosticCode: ['smtp; 550 5.1.1 user unknown'],
      },
    })
  })

  test('the webhook payload omits template, tags and headers that the email does not have', () => {
    const nothing = { templateId: null, broadcastId: null, tags: [], headers: [] }
    const plain = event('email.sent')
    const payload = presentWebhookEvent({ ...plain, email: { ...plain.email!, ...nothing } })
    expect(payload.data).not.toHaveProperty('template_id')
    expect(payload.data).not.toHaveProperty('tags')
    expect(payload.data).not.toHaveProperty('headers')
    expect(payload.data.to).toEqual(['Ada <ada@customer.test>', 'b@customer.test'])
  })

  test('the webhook payload of a manually suppressed address has a reason known to typed clients', () => {
    const suppressed = { message: 'On the list.', type: 'OnAccountSuppressionList' as const, reason: null }
    expect(
      presentWebhookEvent(event('email.suppressed', { data: { recipient, suppressed } })).data,
    ).toMatchObject({
      suppressed: {
        message: 'On the list.',
        type: 'OnAccountSuppressionList',
        reason: 'previous_complaint',
        diagnosticCode: [],
      },
    })
  })

  const domain = {
    id: '019aa7b1-c1f0-7c6e-8f6a-3d1b2c4e5f61',
    name: 'acme.example',
    status: 'verified',
    region: 'us-east-1',
    createdAt: 0,
    sending: true,
    receiving: false,
    records: [
      {
        record: 'SPF',
        name: 'send',
        type: 'MX',
        value: 'mx.acme.example',
        priority: 10,
        status: 'verified',
      },
      {
        record: 'SPF',
        name: 'send',
        type: 'TXT',
        value: 'v=spf1 -all',
        priority: null,
        status: 'verified',
      },
    ],
  }
  const suppression = {
    id: '019aa7b1-c1f0-7c6e-8f6a-3d1b2c4e5f62',
    email: 'ada@customer.test',
    origin: 'bounce',
    sourceId: '019aa7b1-c1f0-7c6e-8f6a-3d1b2c4e5f60',
    createdAt: 0,
  }
  const contact = {
    id: '019aa7b1-c1f0-7c6e-8f6a-3d1b2c4e5f63',
    email: 'ada@customer.test',
    firstName: 'Ada',
    lastName: null,
    unsubscribed: true,
    segmentIds: ['019aa7b1-c1f0-7c6e-8f6a-3d1b2c4e5f64'],
    createdAt: 0,
    updatedAt: 0,
  }
  const about: Record<string, EventData> = {
    domain: { domain },
    suppression: { suppression },
    contact: { contact },
  }
  const received: EventReceivedEmail = {
    emailId: '019aa7b1-c1f0-7c6e-8f6a-3d1b2c4e5f63',
    createdAt: 0,
    from: 'Ada <ada@x.example>',
    to: ['a@acme.example'],
    cc: [],
    bcc: [],
    receivedFor: ['a@acme.example'],
    subject: 'Hi',
    messageId: '<1@x.example>',
    attachments: [
      {
        id: '019aa7b1-c1f0-7c6e-8f6a-3d1b2c4e5f64',
        filename: 'a.png',
        contentType: 'image/png',
        disposition: 'inline',
        contentId: 'logo',
      },
    ],
  }
  about.email = { received }
  about.alert = {
    alert: {
      id: '019aa7b1-c1f0-7c6e-8f6a-3d1b2c4e5f65',
      teamId: '019aa7b1-c1f0-7c6e-8f6a-3d1b2c4e5f66',
      scope: 'team',
      kind: 'bounces',
      subject: { type: 'domain', id: domain.id, name: 'acme.example' },
      note: '3.5% bounced.',
      value: 0.035,
      limit: 0.04,
      openedAt: 0,
      calmSince: null,
      closedAt: null,
      muted: false,
    },
  }
  const others = OTHER_EVENTS.map((type) => [type, about[type.split('.')[0]!]])

  test.each(others.filter(([type]) => upstream.webhooks[type as string]) as [string, EventData][])(
    'the webhook payload of %s, which is not about an email, matches the hosted service’s schema',
    (type, about) => {
      const payload = presentWebhookEvent(event(type, { emailId: null, email: null, data: about }))
      expect(complaints(type, payload)).toBeNull()
    },
  )

  test('the webhook payload of an alert has its subject and the recommended fix', () => {
    const payload = presentWebhookEvent(
      event('alert.opened', { emailId: null, email: null, data: about.alert! }),
    )
    expect(payload.data).toEqual({
      id: '019aa7b1-c1f0-7c6e-8f6a-3d1b2c4e5f65',
      kind: 'bounces',
      scope: 'team',
      subject: { type: 'domain', id: domain.id, name: 'acme.example' },
      title: 'Bounces of acme.example',
      note: '3.5% bounced.',
      fix: expect.stringContaining('Stop mailing') as string,
      value: 0.035,
      limit: 0.04,
      opened_at: '1970-01-01T00:00:00.000Z',
      closed_at: null,
    })
  })

  test('the webhook payload of a domain has its records, without absent fields', () => {
    const payload = presentWebhookEvent(
      event('domain.updated', { emailId: null, email: null, data: { domain } }),
    )
    expect(payload.data).toEqual({
      id: domain.id,
      name: 'acme.example',
      status: 'verified',
      created_at: '1970-01-01T00:00:00.000Z',
      region: 'us-east-1',
      capabilities: { sending: 'enabled', receiving: 'disabled' },
      records: [
        {
          record: 'SPF',
          name: 'send',
          type: 'MX',
          value: 'mx.acme.example',
          status: 'verified',
          ttl: 'Auto',
          priority: 10,
        },
        {
          record: 'SPF',
          name: 'send',
          type: 'TXT',
          value: 'v=spf1 -all',
          status: 'verified',
          ttl: 'Auto',
        },
      ],
    })
  })

  test('the webhook payload of a suppression has the fields of its entry', () => {
    const data = { suppression }
    expect(
      presentWebhookEvent(event('suppression.added', { emailId: null, email: null, data })).data,
    ).toEqual({
      id: suppression.id,
      email: 'ada@customer.test',
      origin: 'bounce',
      source_id: suppression.sourceId,
      created_at: '1970-01-01T00:00:00.000Z',
    })
  })

  test('the webhook payload of a ping has the webhook ID', () => {
    expect(presentPing('w', 0)).toEqual({
      type: 'webhook.ping',
      created_at: '1970-01-01T00:00:00.000Z',
      data: { webhook_id: 'w' },
    })
  })
})
