import { describe, expect, test } from 'vitest'
import type { Attempt, Delivery, EmailEvent, Step, Timeline } from '../../../appliance/api/timeline.ts'
import {
  describeOutlook,
  summarizeDelivery,
  explainWait,
  addReplyCode,
} from '../../../ui/src/state/outlook.ts'
import { buildTimeline } from '../../../ui/src/state/story.ts'

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
  status: 'delivered',
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
  signatures: [],
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
  accepted_at: at(0),
  recipients: {},
  deliveries: [],
  attempts: [],
  events: [],
  waits: [],
  returned: [],
  ...parts,
})
const told = (story: ReturnType<typeof buildTimeline>) =>
  story.map((entry) => [entry.kind, entry.title, entry.attempt?.number ?? null])

describe('the timeline of a delivery', () => {
  test('the timeline merges an attempt with the event that it caused', () => {
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
    expect(told(buildTimeline(seen, delivery()))).toEqual([
      ['accepted', 'Accepted and stored', null],
      ['email.sent', 'Delivery started', null],
      ['email.delivery_delayed', 'mx.example asked us to wait', 1],
      ['email.delivered', 'mx.example accepted the message', 2],
    ])
  })

  test('the timeline starts when the email was accepted, however late delivery started', () => {
    const late = timeline({ accepted_at: at(0), events: [event('email.sent', 35, null)] })
    expect(buildTimeline(late, delivery()).map(({ title, at: when }) => [title, when])).toEqual([
      ['Accepted and stored', Date.parse(at(0))],
      ['Delivery started', Date.parse(at(35))],
    ])
  })

  test('the timeline shows a complaint after a delivery of the same millisecond', () => {
    const seen = timeline({
      attempts: [attempt('a1', 1, [step('body', { reply: reply(250) })])],
      events: [event('email.delivered', 1, 'd1'), event('email.complained', 1, 'd1')],
    })
    const kinds = buildTimeline(seen, delivery()).map(({ kind }) => kind)
    expect(kinds).toEqual(['accepted', 'email.delivered', 'email.complained'])
  })

  test('the timeline excludes events of other recipients', () => {
    const seen = timeline({
      attempts: [attempt('a1', 1, [], ['d2'])],
      events: [event('email.sent', 0, null), event('email.bounced', 2, 'd2', 'No such mailbox.')],
    })
    expect(told(buildTimeline(seen, delivery()))).toEqual([
      ['accepted', 'Accepted and stored', null],
      ['email.sent', 'Delivery started', null],
    ])
  })

  test('describes an attempt without an event by the reply to this recipient', () => {
    const steps = [
      step('rcpt', { sent: 'RCPT TO:<Ada@example.com>', reply: reply(452, 'full') }),
      step('rcpt', { sent: 'RCPT TO:<bob@example.com>', reply: reply(550, 'unknown') }),
      step('quit', { reply: reply(500) }),
    ]
    const waiting = delivery({ state: 'waiting', attempts: 2 })
    const seen = timeline({ attempts: [attempt('a1', 1, steps), attempt('a2', 60, [])] })
    const [, first] = buildTimeline(seen, waiting)
    expect([first!.kind, first!.title, first!.reply]).toEqual([
      'email.delivery_delayed',
      'mx.example asked Posthaste to retry later',
      reply(452, 'full'),
    ])
  })
})

describe('the reply that decided for a recipient', () => {
  const rcpt = (who: string, code: number) =>
    step('rcpt', { sent: `RCPT TO:<${who}>`, reply: reply(code, who) })
  const mail = (code = 250) => step('mail', { reply: reply(code, 'sender') })
  const data = (code: number) => step('data', { reply: reply(code, 'data') })
  const body = step('body', { reply: reply(250, 'taken') })
  const decided = (...steps: Step[]) => {
    const waiting = delivery({ state: 'waiting', attempts: 2 })
    const seen = timeline({ attempts: [attempt('a1', 1, steps), attempt('a2', 60, [])] })
    const [, first] = buildTimeline(seen, waiting)
    return [first!.title, first!.reply?.text]
  }

  test('the decisive reply is not one to commands pipelined after a rejection', () => {
    expect(decided(mail(), rcpt('ada@example.com', 452), data(503))).toEqual([
      'mx.example asked Posthaste to retry later',
      'ada@example.com',
    ])
    expect(decided(mail(451), rcpt('ada@example.com', 503), data(503))).toEqual([
      'mx.example asked Posthaste to retry later',
      'sender',
    ])
  })

  test('the decisive reply is not the acceptance for other recipients', () => {
    const refused = ['mx.example asked Posthaste to retry later', 'ada@example.com']
    const [ada, bob] = [rcpt('ada@example.com', 450), rcpt('bob@example.com', 250)]
    expect(decided(mail(), ada, bob, data(354), body)).toEqual(refused)
    expect(decided(mail(), ada, data(503), mail(), bob, data(354), body)).toEqual(refused)
  })

  test('the decisive reply is that to the message body once the recipient was accepted', () => {
    const late = step('body', { reply: reply(451, 'greylisted') })
    expect(decided(mail(), rcpt('ada@example.com', 250), data(354), late)[1]).toBe('greylisted')
  })
})

describe('waits in a timeline', () => {
  test('the timeline lists waits where they began, with length and reason', () => {
    const wait = (from: number, until: number, why: string) => ({
      delivery_id: 'd1',
      from: at(from),
      until: at(until),
      reason: 'queue' as const,
      why,
    })
    const seen = timeline({
      attempts: [attempt('a1', 35, [step('body', { reply: reply(250) })])],
      events: [event('email.sent', 35, null), event('email.delivered', 36, 'd1')],
      waits: [
        wait(0, 35, 'held by an operator'),
        wait(100, 285, 'x'),
        { ...wait(0, 35, 'of another'), delivery_id: 'd2' },
      ],
    })
    expect(told(buildTimeline(seen, delivery()))).toEqual([
      ['accepted', 'Accepted and stored', null],
      ['wait', 'Waited 35 s: held by an operator', null],
      ['email.sent', 'Delivery started', null],
      ['email.delivered', 'mx.example accepted the message', 1],
      ['wait', 'Waited 3 min 5 s: x', null],
    ])
  })

  test('the timeline has no acceptance entry if the email was scheduled', () => {
    const seen = timeline({ events: [event('email.scheduled', 0, null)] })
    expect(told(buildTimeline(seen, delivery()))).toEqual([
      ['email.scheduled', 'Accepted, and scheduled for later', null],
    ])
  })
})

describe('the final status of a delivery', () => {
  const cause = (change: Partial<NonNullable<Delivery['cause']>>): Delivery['cause'] => ({
    phase: 'route',
    host: null,
    ip: null,
    reply: null,
    note: 'Why.',
    ...change,
  })
  const ends = (state: 'bounced' | 'expired' | 'failed', change: Partial<NonNullable<Delivery['cause']>>) => {
    const { final, title, detail } = describeOutlook(
      delivery({ state, status: state, cause: cause(change) }),
      0,
    )
    expect(final).toBe(true)
    return `${title}. ${detail}`
  }

  test.each([
    [
      'bounced',
      { host: 'mx.example', reply: reply(550) },
      'Final status: bounced. mx.example rejected it permanently.',
    ],
    [
      'bounced',
      { status: '5.1.2', category: 'dns' },
      'Final status: undeliverable. The recipient’s domain does not exist, so no mail server was contacted.',
    ],
    [
      'bounced',
      { status: '5.1.10', category: 'recipient' },
      'Final status: undeliverable. This domain does not accept mail (null MX, RFC 7505), so no mail server was contacted.',
    ],
    [
      'bounced',
      { status: '5.4.4', category: 'dns' },
      'Final status: undeliverable. The domain has no usable mail server, so none was contacted.',
    ],
    [
      'bounced',
      { host: 'mx.example', phase: 'starttls', category: 'tls' },
      'Final status: not sent. mx.example does not offer the TLS protection that the sender requires.',
    ],
    [
      'bounced',
      { host: 'mx.example', phase: 'mail', status: '5.6.7', category: 'policy' },
      'Final status: undeliverable. mx.example does not support a feature that this message requires.',
    ],
    [
      'expired',
      { category: 'dns' },
      'Final status: expired. The domain’s DNS records could not be looked up in time. No more attempts will be made.',
    ],
    [
      'expired',
      { category: 'temporary' },
      'Final status: expired. No mail server accepted it in time. No more attempts will be made.',
    ],
    [
      'expired',
      { by: 'operator' },
      'Final status: expired. An operator stopped further attempts. It was not delivered.',
    ],
    [
      'failed',
      { by: 'operator' },
      'Final status: dropped. An operator removed it from the queue. It was not delivered.',
    ],
    [
      'failed',
      { by: 'erasure' },
      'Final status: erased. The recipient’s data was erased, so it was not sent.',
    ],
    [
      'failed',
      { status: '5.4.4', category: 'policy' },
      'Final status: failed. This server’s settings do not allow connections to the domain’s mail servers.',
    ],
    [
      'failed',
      { phase: 'sign' },
      'Final status: failed. This server could not send it. Fix the problem above, then send it again.',
    ],
  ] as const)('is %s because of %j', (state, change, words) => {
    expect(ends(state, change)).toBe(words)
  })

  test('the final status of a delivered email that was reported as spam is complained', () => {
    expect(describeOutlook(delivery({ status: 'complained' }), 0)).toMatchObject({
      final: true,
      title: 'Final status: complained',
      detail: 'It was delivered, and the recipient reported it as spam.',
    })
    expect(describeOutlook(delivery(), 0).title).toBe('Final status: delivered')
    expect(describeOutlook(delivery({ state: 'suppressed', status: 'suppressed' }), 0).title).toBe(
      'Final status: suppressed',
    )
  })
})

describe('the outlook of a delivery', () => {
  test('the outlook contains the next attempt and the expiry', () => {
    const waiting = delivery({ state: 'waiting', next_attempt_at: at(400), expires_at: at(9000) })
    expect(describeOutlook(waiting, ms(10))).toEqual({
      final: false,
      title: 'Next attempt in 6 min',
      detail: '',
      next: ms(400),
      givenUp: ms(9000),
    })
    expect(describeOutlook(waiting, ms(401)).title).toBe('Next attempt is due now')
    expect(summarizeDelivery(waiting, ms(10))).toBe('Next attempt in 6 min, 1 attempt so far')
  })

  test('the summary contains how long delivery took', () => {
    expect(summarizeDelivery(delivery(), 0)).toBe('after 2.00 s, 1 attempt')
  })
})

describe('the reason why a delivery waits', () => {
  const cause = {
    category: 'mailbox-full',
    note: 'mx.example says that the mailbox is full.',
    reply: null,
  } as unknown as Delivery['cause']
  const waiting = (why: string | null, change: Partial<Delivery> = {}) =>
    delivery({
      state: 'waiting',
      cause,
      waiting: why === null ? null : { until: null, why },
      ...change,
    })

  test('shows the reason once if it is the same for the last and the next attempt', () => {
    const why = 'attempt 2 at 14:31 UTC: mx.example says that the mailbox is full'
    expect(explainWait(waiting(why))).toBe('mx.example says that the mailbox is full.')
    expect(describeOutlook(waiting(why), 0).detail).toBe('mx.example says that the mailbox is full.')
  })

  test('the reason includes the reply code once', () => {
    const coded = (note: string) => ({
      ...cause!,
      note,
      reply: { code: 452, enhanced: '4.2.2', text: 'full' },
    })
    const why = 'attempt 2 at 14:31 UTC: mx.example says that the mailbox is full'
    expect(explainWait(waiting(why, { cause: coded('mx.example says that the mailbox is full.') }))).toBe(
      'mx.example says that the mailbox is full (452 4.2.2).',
    )
    expect(addReplyCode(coded('mx.example refuses it. It is tried again, as this may pass.'))).toBe(
      'mx.example refuses it (452 4.2.2). It is tried again, as this may pass.',
    )
    expect(addReplyCode(coded('mx.example answered 452.'))).toBe('mx.example answered 452.')
  })

  test('the reason includes the lane if the delivery waits for it', () => {
    expect(explainWait(waiting('waiting for one of 2 connections to Example'))).toBe(
      'mx.example says that the mailbox is full. Waiting for one of 2 connections to Example.',
    )
    expect(explainWait(waiting('next in line', { cause: null }))).toBe('Next in line.')
  })

  test('the reason is only the hold if held, and empty if unknown', () => {
    const held = 'held by an operator until released'
    expect(explainWait(waiting(held, { state: 'held' }))).toBe('Held by an operator until released.')
    expect(explainWait(waiting(null))).toBe('mx.example says that the mailbox is full.')
    expect(explainWait(waiting(null, { cause: null }))).toBe('')
  })
})

describe('a delivery without an attempt', () => {
  test('a canceled delivery is final, and shows that no attempt was made', () => {
    const canceled = delivery({ state: 'canceled', status: 'canceled', attempts: 0 })
    expect(describeOutlook(canceled, 0).title).toBe('Final status: canceled')
    expect(summarizeDelivery(canceled, 0)).toBe('no attempt was made')
  })
})
