import { describe, expect, test } from 'vitest'
import { computeChange } from '../../../appliance/delivery/changes.ts'
import { isId } from '../../../appliance/mail/ids.ts'
import { parseReply } from '../../../appliance/mail/reply.ts'
import type { Cause, Verdict } from '../../../appliance/mail/verdict.ts'
import type { LeasedDelivery } from '../../../appliance/storage/storage.ts'

const hour = 3_600_000
const createdAt = 1_790_000_000_000
const delivery: LeasedDelivery = {
  id: 'delivery-1',
  teamId: 'team',
  emailId: 'email',
  domainId: 'domain',
  recipient: 'bob@example.org',
  domain: 'example.org',
  pool: 'default',
  provider: '?example.org',
  stream: 'transactional' as const,
  attempts: 1,
  createdAt,
  expiresAt: createdAt + 96 * hour,
  leaseUntil: createdAt + hour,
  returnPath: 'bounce@send.example.com',
  scheduledAt: null,
  reportTo: null,
  dsn: { ret: null, envid: null, notify: null, orcpt: null },
  requireTls: null,
  dueAt: 0,
  touchedAt: null,
}
const cause: Cause = {
  phase: 'rcpt',
  host: 'mx.example.org',
  ip: '192.0.2.9',
  reply: null,
  note: 'It broke.',
}
const said = (text: string): Cause => ({ ...cause, reply: parseReply(text)! })

describe('delivery changes after a verdict', () => {
  test('a delivered delivery is final, with an email.delivered event', () => {
    const change = computeChange(delivery, { kind: 'delivered', cause }, createdAt)
    expect(change).toMatchObject({ deliveryId: 'delivery-1', state: 'delivered', dueAt: null, cause })
    expect(change.event).toMatchObject({
      type: 'email.delivered',
      data: { recipient: 'bob@example.org', cause },
    })
    expect(isId(change.event!.id)).toBe(true)
  })

  test('a deferred delivery is rescheduled, with an email.delivery_delayed event for the first deferral', () => {
    const until = createdAt + 60_000
    expect(computeChange(delivery, { kind: 'deferred', until, cause }, createdAt)).toMatchObject({
      state: 'waiting',
      dueAt: until,
      event: { type: 'email.delivery_delayed', data: { delay: { attempt: 1, nextAttemptAt: until } } },
    })
  })

  test('a failed delivery has its reason in email.failed', () => {
    expect(computeChange(delivery, { kind: 'failed', cause }, createdAt)).toMatchObject({
      state: 'failed',
      dueAt: null,
      event: { type: 'email.failed', data: { failed: { reason: 'It broke.' } } },
    })
  })

  test('an expired delivery is reported as a transient bounce', () => {
    expect(
      computeChange(
        delivery,
        { kind: 'expired', cause: said('452 4.2.2 mailbox full'), subType: 'MailboxFull' },
        createdAt,
      ),
    ).toMatchObject({
      state: 'expired',
      event: {
        type: 'email.bounced',
        data: {
          bounce: {
            type: 'Transient',
            subType: 'MailboxFull',
            diagnosticCode: ['smtp; 452 4.2.2 mailbox full'],
          },
        },
      },
    })
  })

  const bounceOf = (verdict: Verdict) => computeChange(delivery, verdict, createdAt).event!.data.bounce

  test('a bounced delivery has type, subtype, message, diagnostic code and category', () => {
    const found: Cause = { ...said('550 5.7.1 no'), category: 'policy' }
    const verdict: Verdict = { kind: 'bounced', cause: found, subType: 'General', suppress: false }
    expect(computeChange(delivery, verdict, createdAt).event!.type).toBe('email.bounced')
    expect(bounceOf(verdict)).toEqual({
      type: 'Permanent',
      subType: 'General',
      message: 'It broke.',
      diagnosticCode: ['smtp; 550 5.7.1 no'],
      category: 'policy',
    })
  })

  test('the bounce of a nonexistent address asks for suppression', () => {
    const found: Cause = { ...said('550 5.1.1 user unknown'), category: 'recipient' }
    expect(bounceOf({ kind: 'bounced', cause: found, subType: 'NoEmail', suppress: true })).toEqual({
      type: 'Permanent',
      subType: 'NoEmail',
      message: 'It broke.',
      diagnosticCode: ['smtp; 550 5.1.1 user unknown'],
      category: 'recipient',
      suppress: true,
    })
  })

  test('a failure found without a reply has an x-posthaste diagnostic code', () => {
    const own: Cause = { ...cause, status: '5.4.4', category: 'dns' }
    expect(bounceOf({ kind: 'bounced', cause: own, subType: 'General', suppress: false })).toMatchObject({
      type: 'Permanent',
      subType: 'General',
      diagnosticCode: ['x-posthaste; 5.4.4 It broke.'],
    })
  })
})

test('a delivery deferred for four days creates a delay event at first and then once a day', () => {
  const told: number[] = []
  for (let attempts = 1, age = 0; age < 96; attempts++, age += 6) {
    const verdict: Verdict = { kind: 'deferred', until: createdAt + (age + 6) * hour, cause }
    const change = computeChange({ ...delivery, attempts }, verdict, createdAt + age * hour)
    expect(change.state).toBe('waiting')
    if (change.event) told.push(age)
  }
  expect(told).toEqual([0, 18, 42, 66, 90])
})
