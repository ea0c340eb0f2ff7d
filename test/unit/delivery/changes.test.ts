import { describe, expect, test } from 'vitest'
import { changeFor } from '../../../appliance/delivery/changes.ts'
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
  lane: 'example.org',
  attempts: 1,
  createdAt,
  expiresAt: createdAt + 96 * hour,
  leaseUntil: createdAt + hour,
  returnPath: 'bounce@send.example.com',
  scheduledAt: null,
  reportTo: null,
  dsn: { ret: null, envid: null, notify: null, orcpt: null },
  requireTls: null,
}
const cause: Cause = {
  phase: 'rcpt',
  host: 'mx.example.org',
  ip: '192.0.2.9',
  reply: null,
  note: 'It broke.',
}
const said = (text: string): Cause => ({ ...cause, reply: parseReply(text)! })

describe('the change for', () => {
  test('a delivered one is final and tells', () => {
    const change = changeFor(delivery, { kind: 'delivered', cause }, createdAt)
    expect(change).toMatchObject({ deliveryId: 'delivery-1', state: 'delivered', dueAt: null, cause })
    expect(change.event).toMatchObject({
      type: 'email.delivered',
      data: { recipient: 'bob@example.org', cause },
    })
    expect(isId(change.event!.id)).toBe(true)
  })

  test('a deferred one waits, and its first deferral is told', () => {
    const until = createdAt + 60_000
    expect(changeFor(delivery, { kind: 'deferred', until, cause }, createdAt)).toMatchObject({
      state: 'waiting',
      dueAt: until,
      event: { type: 'email.delivery_delayed', data: { delay: { attempt: 1, nextAttemptAt: until } } },
    })
  })

  test('a failed one says why', () => {
    expect(changeFor(delivery, { kind: 'failed', cause }, createdAt)).toMatchObject({
      state: 'failed',
      dueAt: null,
      event: { type: 'email.failed', data: { failed: { reason: 'It broke.' } } },
    })
  })

  test('an expired one is a transient bounce', () => {
    expect(
      changeFor(delivery, { kind: 'expired', cause: said('452 4.2.2 mailbox full') }, createdAt),
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

  test('a bounced one has type, subtype, sentence and diagnostic code', () => {
    expect(
      changeFor(delivery, { kind: 'bounced', cause: said('550 5.1.1 user unknown') }, createdAt).event,
    ).toMatchObject({
      type: 'email.bounced',
      data: {
        bounce: {
          type: 'Permanent',
          subType: 'NoEmail',
          message: 'It broke.',
          diagnosticCode: ['smtp; 550 5.1.1 user unknown'],
        },
      },
    })
  })

  test.each([
    ['5.1.10', 'NoEmail'],
    ['5.1.2', 'NoEmail'],
    ['5.3.4', 'MessageTooLarge'],
    ['5.6.7', 'General'],
    ['5.4.4', 'General'],
  ])('what we found ourselves with status %s is classed %s', (status, subType) => {
    const { event } = changeFor(delivery, { kind: 'bounced', cause: { ...cause, status } }, createdAt)
    expect(event!.data.bounce).toEqual({
      type: 'Permanent',
      subType,
      message: 'It broke.',
      diagnosticCode: [`x-posthaste; ${status} It broke.`],
    })
  })
})

test('a delivery that is deferred for four days tells at first and then once a day', () => {
  const told: number[] = []
  for (let attempts = 1, age = 0; age < 96; attempts++, age += 6) {
    const verdict: Verdict = { kind: 'deferred', until: createdAt + (age + 6) * hour, cause }
    const change = changeFor({ ...delivery, attempts }, verdict, createdAt + age * hour)
    expect(change.state).toBe('waiting')
    if (change.event) told.push(age)
  }
  expect(told).toEqual([0, 18, 42, 66, 90])
})
