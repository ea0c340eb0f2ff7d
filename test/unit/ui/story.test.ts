import { describe, expect, test } from 'vitest'
import type {
  Attempt,
  Delivery,
  EmailEvent,
  Step,
  Timeline,
} from '../../../appliance/http/schemas/timeline.ts'
import { isScheduled, outlook, storyOf, summary, whyWaiting, withCode } from '../../../ui/src/state/story.ts'

const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1) + seconds * 1000).toISOString()
const ms = (seconds: number) => Date.UTC(2026, 0, 1) + seconds * 1000

const step = (name: string, change: Partial<Step> = {}): Step => ({
  name,
  host: 'mx.example',
  ip: '192.0.2.1',
  sent: null,
  reply: null,
  note: null,
  at: 0,
  ms: 1,
  ...change,
})
const reply = (code: number, text = '') => ({ code, enhanced: null, text })
const delivery = (change: Partial<Delivery> = {}): Delivery => ({
  id: 'd1',
  email_id: 'e1',
  recipient: 'ada@example.com',
  field: 'to',
  pool: 'default',
  provider: '?example.com',
  state: 'delivered',
  attempts: 1,
  created_at: at(0),
  updated_at: at(2),
  next_attempt_at: null,
  expires_at: null,
  cause: null,
  waiting: null,
  ...change,
})
const attempt = (id: string, from: number, steps: Step[], deliveries = ['d1']): Attempt => ({
  id,
  delivery_ids: deliveries,
  started_at: at(from),
  ended_at: at(from + 1),
  host: 'mx.example',
  ip: '192.0.2.1',
  tls: null,
  source: null,
  steps,
})
const event = (
  type: EmailEvent['type'],
  when: number,
  deliveryId: string | null,
  note?: string,
): EmailEvent => ({
  id: `${type}@${when}`,
  type,
  created_at: at(when),
  delivery_id: deliveryId,
  recipient: null,
  cause: note ? { phase: 'rcpt', host: null, ip: null, reply: null, note } : null,
  visit: null,
})
const timeline = (parts: Partial<Timeline>): Timeline => ({
  object: 'timeline',
  email_id: 'e1',
  deliveries: [],
  attempts: [],
  events: [],
  ...parts,
})
const told = (story: ReturnType<typeof storyOf>) =>
  story.map((entry) => [entry.kind, entry.title, entry.attempt?.number ?? null])

describe('the story of a delivery', () => {
  test('an attempt and the event that it caused are one entry', () => {
    const seen = timeline({
      attempts: [
        attempt('a2', 60, [step('body', { reply: reply(250) })]),
        attempt('a1', 1, [step('rcpt', { reply: reply(450) })]),
      ],
      events: [
        event('email.sent', 0, null),
        event('email.delivered', 61, 'd1'),
        event('email.delivery_delayed', 2, 'd1', 'mx.example asked us to wait.'),
      ],
    })
    expect(told(storyOf(seen, delivery()))).toEqual([
      ['email.sent', 'Accepted and stored: delivery begins', null],
      ['email.delivery_delayed', 'mx.example asked us to wait', 1],
      ['email.delivered', 'mx.example took the message', 2],
    ])
  })

  test('a complaint of the same millisecond comes after the delivery', () => {
    const seen = timeline({
      attempts: [attempt('a1', 1, [step('body', { reply: reply(250) })])],
      events: [event('email.delivered', 1, 'd1'), event('email.complained', 1, 'd1')],
    })
    expect(storyOf(seen, delivery()).map(({ kind }) => kind)).toEqual(['email.delivered', 'email.complained'])
  })

  test('what happened to other recipients is not in it', () => {
    const seen = timeline({
      attempts: [attempt('a1', 1, [], ['d2'])],
      events: [event('email.sent', 0, null), event('email.bounced', 2, 'd2', 'No such mailbox.')],
    })
    expect(told(storyOf(seen, delivery()))).toEqual([
      ['email.sent', 'Accepted and stored: delivery begins', null],
    ])
  })

  test('an attempt without an event is told by the reply to this recipient', () => {
    const steps = [
      step('rcpt', { sent: 'RCPT TO:<Ada@example.com>', reply: reply(452, 'full') }),
      step('rcpt', { sent: 'RCPT TO:<bob@example.com>', reply: reply(550, 'unknown') }),
      step('quit', { reply: reply(500) }),
    ]
    const waiting = delivery({ state: 'waiting', attempts: 2 })
    const seen = timeline({ attempts: [attempt('a1', 1, steps), attempt('a2', 60, [])] })
    const [first] = storyOf(seen, waiting)
    expect([first!.kind, first!.title, first!.reply]).toEqual([
      'email.delivery_delayed',
      'mx.example asked to be tried again later',
      reply(452, 'full'),
    ])
  })
})

describe('what decided about a recipient', () => {
  const rcpt = (who: string, code: number) =>
    step('rcpt', { sent: `RCPT TO:<${who}>`, reply: reply(code, who) })
  const mail = (code = 250) => step('mail', { reply: reply(code, 'sender') })
  const data = (code: number) => step('data', { reply: reply(code, 'data') })
  const body = step('body', { reply: reply(250, 'taken') })
  const decided = (...steps: Step[]) => {
    const waiting = delivery({ state: 'waiting', attempts: 2 })
    const seen = timeline({ attempts: [attempt('a1', 1, steps), attempt('a2', 60, [])] })
    const [first] = storyOf(seen, waiting)
    return [first!.title, first!.reply?.text]
  }

  test('is not what a server says to commands that were on their way behind a refusal', () => {
    expect(decided(mail(), rcpt('ada@example.com', 452), data(503))).toEqual([
      'mx.example asked to be tried again later',
      'ada@example.com',
    ])
    expect(decided(mail(451), rcpt('ada@example.com', 503), data(503))).toEqual([
      'mx.example asked to be tried again later',
      'sender',
    ])
  })

  test('is not that the message was taken for others', () => {
    const refused = ['mx.example asked to be tried again later', 'ada@example.com']
    const [ada, bob] = [rcpt('ada@example.com', 450), rcpt('bob@example.com', 250)]
    expect(decided(mail(), ada, bob, data(354), body)).toEqual(refused)
    expect(decided(mail(), ada, data(503), mail(), bob, data(354), body)).toEqual(refused)
  })

  test('is the end of data once the recipient was let in', () => {
    const late = step('body', { reply: reply(451, 'greylisted') })
    expect(decided(mail(), rcpt('ada@example.com', 250), data(354), late)[1]).toBe('greylisted')
  })
})

describe('what happens next', () => {
  test('a waiting delivery names its next try and its end', () => {
    const waiting = delivery({ state: 'waiting', next_attempt_at: at(400), expires_at: at(9000) })
    expect(outlook(waiting, ms(10))).toEqual({
      final: false,
      title: 'Next try in 6 min',
      detail: '',
      next: ms(400),
      givenUp: ms(9000),
    })
    expect(outlook(waiting, ms(401)).title).toBe('Next try is due now')
    expect(summary(waiting, ms(10))).toBe('Next try in 6 min, 1 try so far')
  })

  test.each(['delivered', 'bounced', 'expired', 'failed', 'suppressed'] as const)('%s is final', (state) => {
    expect(outlook(delivery({ state }), 0).final).toBe(true)
  })

  test('how long a delivery took is in its summary', () => {
    expect(summary(delivery(), 0)).toBe('after 2.00 s, 1 try')
  })
})

describe('why a delivery waits', () => {
  const cause = {
    category: 'mailbox-full',
    note: 'mx.example says that the mailbox is full.',
    reply: null,
  } as unknown as Delivery['cause']
  const waiting = (why: string | null, change: Partial<Delivery> = {}) =>
    delivery({
      ...{ state: 'waiting', cause, waiting: why === null ? null : { until: null, why } },
      ...change,
    })

  test('is told once where the next attempt waits for the reason of the last', () => {
    const why = 'attempt 2 comes at 14:31 UTC: mx.example says that the mailbox is full'
    expect(whyWaiting(waiting(why))).toBe('mx.example says that the mailbox is full.')
    expect(outlook(waiting(why), 0).detail).toBe('mx.example says that the mailbox is full.')
  })

  test('names the code of the reply, once', () => {
    const coded = (note: string) => ({
      ...cause!,
      note,
      reply: { code: 452, enhanced: '4.2.2', text: 'full' },
    })
    const why = 'attempt 2 comes at 14:31 UTC: mx.example says that the mailbox is full'
    expect(whyWaiting(waiting(why, { cause: coded('mx.example says that the mailbox is full.') }))).toBe(
      'mx.example says that the mailbox is full (452 4.2.2).',
    )
    expect(withCode(coded('mx.example refuses it. It is tried again, as this may pass.'))).toBe(
      'mx.example refuses it (452 4.2.2). It is tried again, as this may pass.',
    )
    expect(withCode(coded('mx.example answered 452.'))).toBe('mx.example answered 452.')
  })

  test('is told as well where its lane is what it waits for', () => {
    expect(whyWaiting(waiting('its turn comes when one of 2 connections to Example is free'))).toBe(
      'mx.example says that the mailbox is full. Its turn comes when one of 2 connections to Example is free.',
    )
    expect(whyWaiting(waiting('its turn comes now', { cause: null }))).toBe('Its turn comes now.')
  })

  test('is the operator alone where it is held, and nothing where nothing is known', () => {
    const held = 'held by an operator, until somebody releases it'
    expect(whyWaiting(waiting(held, { state: 'held' }))).toBe(
      'Held by an operator, until somebody releases it.',
    )
    expect(whyWaiting(waiting(null))).toBe('mx.example says that the mailbox is full.')
    expect(whyWaiting(waiting(null, { cause: null }))).toBe('')
  })
})

describe('a delivery that waits for its first try', () => {
  const waiting = { state: 'waiting', attempts: 0 } as const

  test('is scheduled when its sender chose the time, and queued otherwise', () => {
    expect(isScheduled(delivery({ ...waiting, next_attempt_at: at(3600) }))).toBe(true)
    expect(isScheduled(delivery({ ...waiting, next_attempt_at: at(0) }))).toBe(false)
    expect(isScheduled(delivery({ ...waiting, attempts: 1, next_attempt_at: at(3600) }))).toBe(false)
  })

  test('is final once it is canceled, and was never tried', () => {
    const canceled = delivery({ state: 'canceled', attempts: 0 })
    expect(outlook(canceled, 0).title).toBe('Final: canceled')
    expect(summary(canceled, 0)).toBe('no attempt was made')
  })
})
