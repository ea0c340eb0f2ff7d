import { describe, expect, test } from 'vitest'
import { NO_REGIONS } from '../../../appliance/mail/region.ts'
import type { Delivery, Domain, Email } from '../../../appliance/storage/storage.ts'
import { presentEmail } from '../../../appliance/api/emails.ts'
import { presentDelivery, presentTimeline } from '../../../appliance/api/timeline.ts'
import { presentDomain } from '../../../appliance/api/domains.ts'
import { presentList } from '../../../appliance/api/shared.ts'
import { timestamp, timestampOrNull } from '../../../appliance/api/timestamp.ts'

describe('timestamps', () => {
  test.each([
    [0, '1970-01-01 00:00:00+00'],
    [1_764_535_199_540, '2025-11-30 20:39:59.54+00'],
    [1_764_535_199_001, '2025-11-30 20:39:59.001+00'],
    [1_764_535_199_500, '2025-11-30 20:39:59.5+00'],
    [1_764_534_000_000, '2025-11-30 20:20:00+00'],
  ])('formats the timestamp %i as %s', (ms, text) => {
    expect(timestamp(ms)).toBe(text)
  })

  test('formats a missing timestamp as null', () => {
    expect([timestampOrNull(null), timestampOrNull(0)]).toEqual([null, '1970-01-01 00:00:00+00'])
  })
})

test('wraps a list in an object with has_more and data', () => {
  expect(presentList([1, 2])).toEqual({ object: 'list', has_more: false, data: [1, 2] })
  expect(presentList([1], true).has_more).toBe(true)
})

test('presents a domain with its records and the check result of each', () => {
  const domain: Domain = {
    id: 'd',
    teamId: 't',
    name: 'example.com',
    status: 'pending',
    region: 'eu-west-1',
    returnPath: 'send',
    checks: [
      {
        key: 'SPF MX',
        status: 'failed',
        found: ['10 other.example'],
        note: 'Wrong.',
        checkedAt: 60_000,
        since: 0,
      },
    ],
    createdAt: 0,
    checkedAt: 60_000,
    statusSince: 0,
    tls: 'enforced',
    sending: true,
    receiving: true,
    openTracking: true,
    clickTracking: false,
    trackingSubdomain: 'links',
    delegation: 'none',
    verifyUntil: 120_000,
    suspect: null,
    nextCheckAt: 90_000,
  }
  const shown = { name: 'send', fqdn: 'send.example.com', required: true, advice: null, served: false }
  const required = { ...shown, label: null }
  const record = { record: 'SPF' as const, ...required }
  const key = {
    id: 'k',
    teamId: 't',
    domainId: 'd',
    selector: 's1',
    algorithm: 'rsa-sha256' as const,
    publicKey: 'AAAA',
    createdAt: 0,
    state: 'retiring' as const,
    stateSince: 0,
    retireAt: 60_000,
  }
  const presented = presentDomain(
    domain,
    [
      { ...record, key: 'SPF MX', type: 'MX', value: 'mail.example.net', priority: 10 },
      { ...record, key: 'SPF', type: 'TXT', value: 'v=spf1 ~all', priority: null },
      { ...record, record: 'DMARC', key: 'DMARC', type: 'TXT', value: 'v=DMARC1; p=none;', priority: null },
    ],
    [key],
    { sources: [], assignments: [], regions: NO_REGIONS },
    null,
  )
  expect(presented).toMatchObject({
    object: 'domain',
    region: 'eu-west-1',
    capabilities: { sending: 'enabled', receiving: 'enabled' },
    open_tracking: true,
    tracking_subdomain: 'links',
    tls: 'enforced',
    recommended_records: [{ record: 'DMARC' }],
    dkim_keys: [
      {
        selector: 's1',
        state: 'retiring',
        retires_at: '1970-01-01 00:01:00+00',
        fqdn: 's1._domainkey.example.com',
        value: 'v=DKIM1; k=rsa; p=AAAA',
      },
    ],
    status_since: '1970-01-01 00:00:00+00',
    failing_since: null,
    checked_at: '1970-01-01 00:01:00+00',
    next_check_at: '1970-01-01 00:01:30+00',
    gives_up_at: '1970-01-01 00:02:00+00',
    notes: ['The domain receives mail once it is verified.'],
  })
  const shared = { record: 'SPF', ttl: 'Auto', ...shown }
  const never = { checked_at: null, since: null }
  expect(presented.records).toEqual([
    {
      ...shared,
      type: 'MX',
      status: 'failed',
      value: 'mail.example.net',
      priority: 10,
      found: ['10 other.example'],
      note: 'Wrong.',
      checked_at: '1970-01-01 00:01:00+00',
      since: '1970-01-01 00:00:00+00',
    },
    { ...shared, ...never, type: 'TXT', status: 'not_started', value: 'v=spf1 ~all', found: [], note: null },
  ])
})

const email: Email = {
  id: 'e',
  teamId: 't',
  domainId: 'd',
  apiKeyId: null,
  via: 'rest',
  from: 'a@example.com',
  to: ['b@example.net'],
  cc: [],
  bcc: ['c@example.net'],
  replyTo: [],
  subject: 'Hello',
  messageId: '<e@example.com>',
  lastEvent: 'delivered',
  scheduledAt: null,
  createdAt: 0,
  content: { place: 'message', html: null, text: null },
  headers: [{ name: 'X-Secret', value: 'x' }],
  tags: [{ name: 'a', value: 'b' }],
  attachments: [],
  returnPath: 'b@send.example.com',
  size: 5,
  topicId: null,
  template: null,
  broadcastId: null,
}

test('presents an email with exactly the keys of the wire format, and null for empty lists', () => {
  expect(presentEmail(email, { html: null, text: 'Hello' })).toEqual({
    object: 'email',
    id: 'e',
    message_id: '<e@example.com>',
    to: ['b@example.net'],
    from: 'a@example.com',
    created_at: '1970-01-01 00:00:00+00',
    subject: 'Hello',
    bcc: ['c@example.net'],
    cc: null,
    reply_to: null,
    last_event: 'delivered',
    scheduled_at: null,
    html: null,
    text: 'Hello',
    tags: [{ name: 'a', value: 'b' }],
  })
})

test('presents a timeline with deliveries, attempts and events', () => {
  const delivery: Delivery = {
    id: 'x',
    emailId: 'e',
    teamId: 't',
    recipient: 'b@example.net',
    field: 'to',
    pool: 'default',
    provider: 'hosting.example',
    state: 'delivered',
    attempts: 1,
    createdAt: 0,
    updatedAt: 1000,
    dueAt: null,
    expiresAt: null,
    scheduledAt: null,
    cause: null,
  }
  const attempt = { id: 'a', teamId: 't', emailId: 'e', deliveryIds: ['x'], startedAt: 0, endedAt: 500 }
  const transcript = { steps: [], host: 'mx.example.net', ip: '192.0.2.1', tls: null }
  const data = { recipient: 'b@example.net' }
  const event = {
    id: 'v',
    emailId: 'e',
    deliveryId: 'x',
    type: 'email.delivered' as const,
    createdAt: 500,
    data,
  }
  expect(
    presentTimeline(
      { id: 'e', createdAt: 0 },
      { deliveries: [delivery], attempts: [{ ...attempt, transcript }], events: [event] },
    ),
  ).toEqual({
    object: 'timeline',
    email_id: 'e',
    accepted_at: '1970-01-01 00:00:00+00',
    recipients: { delivered: 1 },
    deliveries: [presentDelivery(delivery)],
    attempts: [
      {
        id: 'a',
        delivery_ids: ['x'],
        started_at: '1970-01-01 00:00:00+00',
        ended_at: '1970-01-01 00:00:00.5+00',
        host: 'mx.example.net',
        ip: '192.0.2.1',
        tls: null,
        source: null,
        signatures: [],
        steps: [],
      },
    ],
    events: [
      {
        id: 'v',
        type: 'email.delivered',
        created_at: '1970-01-01 00:00:00.5+00',
        delivery_id: 'x',
        recipient: 'b@example.net',
        cause: null,
        visit: null,
      },
    ],
    waits: [],
    returned: [],
  })
  expect(presentDelivery(delivery)).toMatchObject({
    next_attempt_at: null,
    updated_at: '1970-01-01 00:00:01+00',
  })
})
