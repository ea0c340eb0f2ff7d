import { describe, expect, test } from 'vitest'
import type { WebhookEventObject } from '../../../appliance/api/webhook-events.ts'
import {
  getEmailPath,
  describeWebhookSubject,
  describeLastRequest,
  describeReplay,
} from '../../../ui/src/state/webhook-events.ts'

const email = (more: Partial<WebhookEventObject> = {}): WebhookEventObject => ({
  object: 'email',
  id: '1',
  names: ['ada@x.example'],
  subject: 'Your receipt',
  erased: false,
  removed: false,
  ...more,
})

describe('the subject of a webhook event', () => {
  test('the subject of an email event is its recipients and subject line', () => {
    expect(describeWebhookSubject(email())).toEqual({ who: 'ada@x.example', what: 'Your receipt' })
    expect(
      describeWebhookSubject(email({ names: ['a@x.example', 'b@x.example', 'c@x.example'], subject: '' })),
    ).toEqual({
      who: 'a@x.example +2',
      what: '(no subject)',
    })
    expect(getEmailPath(email())).toBe('/emails/1')
  })

  test('shows if the email was erased or removed, and a removed one has no link', () => {
    const names = ['erased-0123456789abcdef@erased.invalid']
    const erased = email({ names, subject: '', erased: true })
    expect([describeWebhookSubject(erased), getEmailPath(erased)]).toEqual([
      { who: 'erased address', what: 'erased' },
      '/emails/1',
    ])
    const removed = email({ removed: true })
    expect([describeWebhookSubject(removed), getEmailPath(removed)]).toEqual([
      { who: 'ada@x.example', what: 'email removed · Your receipt' },
      null,
    ])
  })

  test('the subject of a domain event is the name of the domain, and a test event has no subject', () => {
    const domain = email({ object: 'domain', names: ['shop.example'], subject: null })
    expect([describeWebhookSubject(domain), getEmailPath(domain)]).toEqual([
      { who: 'shop.example', what: '' },
      null,
    ])
    expect(getEmailPath(null)).toBeNull()
  })
})

test('the last request shows its status and duration', () => {
  const last = { sent_at: '', http_status_code: 503, duration_ms: 1240, error: 'no' }
  expect(describeLastRequest({ last_request: last })).toBe('503, 1.24 s')
  expect(describeLastRequest({ last_request: { ...last, http_status_code: 0, duration_ms: 15_000 } })).toBe(
    'no response, 15.00 s',
  )
  expect(describeLastRequest({ last_request: null })).toBe('')
})

test('shows events replayed to a disabled endpoint as pending', () => {
  expect([0, 1, 3].map((events) => describeReplay(events, true))).toEqual([
    'No events to replay.',
    'Replaying 1 event.',
    'Replaying 3 events.',
  ])
  expect([1, 3].map((events) => describeReplay(events, false))).toEqual([
    '1 event pending until the webhook is enabled.',
    '3 events pending until the webhook is enabled.',
  ])
})
