import { describe, expect, test } from 'vitest'
import type { WebhookAbout } from '../../../appliance/api/webhook-events.ts'
import { emailOf, ofAbout, ofLast, ofReplay } from '../../../ui/src/state/webhook-events.ts'

const email = (more: Partial<WebhookAbout> = {}): WebhookAbout => ({
  ...{ object: 'email', id: '1', names: ['ada@x.example'], subject: 'Your receipt', erased: false },
  ...{ removed: false, ...more },
})

describe('the subject of a webhook event', () => {
  test('for an email is its recipients and subject line', () => {
    expect(ofAbout(email())).toEqual({ who: 'ada@x.example', what: 'Your receipt' })
    expect(ofAbout(email({ names: ['a@x.example', 'b@x.example', 'c@x.example'], subject: '' }))).toEqual({
      ...{ who: 'a@x.example +2', what: '(no subject)' },
    })
    expect(emailOf(email())).toBe('/emails/1')
  })

  test('says if the email was erased or removed, and a removed one has no link', () => {
    const names = ['erased-0123456789abcdef@erased.invalid']
    const erased = email({ names, subject: '', erased: true })
    expect([ofAbout(erased), emailOf(erased)]).toEqual([
      { who: 'erased address', what: 'erased' },
      '/emails/1',
    ])
    const removed = email({ removed: true })
    expect([ofAbout(removed), emailOf(removed)]).toEqual([
      { who: 'ada@x.example', what: 'email removed · Your receipt' },
      null,
    ])
  })

  test('for a domain is its name, and a test event has none', () => {
    const domain = email({ object: 'domain', names: ['shop.example'], subject: null })
    expect([ofAbout(domain), emailOf(domain)]).toEqual([{ who: 'shop.example', what: '' }, null])
    expect(emailOf(null)).toBeNull()
  })
})

test('the last request shows its status and duration', () => {
  const last = { sent_at: '', http_status_code: 503, duration_ms: 1240, error: 'no' }
  expect(ofLast({ last_request: last })).toBe('503, 1.24 s')
  expect(ofLast({ last_request: { ...last, http_status_code: 0, duration_ms: 15_000 } })).toBe(
    'no response, 15.00 s',
  )
  expect(ofLast({ last_request: null })).toBe('')
})

test('events replayed to a disabled endpoint are shown as pending', () => {
  expect([0, 1, 3].map((events) => ofReplay(events, true))).toEqual([
    'No events to replay.',
    'Replaying 1 event.',
    'Replaying 3 events.',
  ])
  expect([1, 3].map((events) => ofReplay(events, false))).toEqual([
    '1 event pending until the webhook is enabled.',
    '3 events pending until the webhook is enabled.',
  ])
})
