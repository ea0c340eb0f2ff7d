import { expect, test } from 'vitest'
import type { Step, Transcript } from '../../../appliance/mail/transcript.ts'
import type { Attempt, Delivery } from '../../../appliance/storage/storage.ts'
import { listWaits } from '../../../appliance/api/waits.ts'

const SECOND = 1000

const delivery = (change: Partial<Delivery> = {}): Delivery => ({
  id: 'd',
  emailId: 'e',
  teamId: 't',
  recipient: 'Ada@example.net',
  field: 'to',
  pool: 'default',
  provider: 'hosting.example',
  state: 'delivered',
  attempts: 1,
  createdAt: 0,
  updatedAt: 0,
  dueAt: null,
  expiresAt: null,
  scheduledAt: null,
  cause: null,
  ...change,
})

const attempt = (startedAt: number, transcript: Partial<Transcript> = {}): Attempt => ({
  id: `a${startedAt}`,
  teamId: 't',
  emailId: 'e',
  deliveryIds: ['d'],
  startedAt,
  endedAt: startedAt + SECOND,
  transcript: { steps: [], host: 'mx.example.net', ip: null, tls: null, ...transcript },
})

const rcpt = (recipient: string, code: number, text: string): Step => ({
  name: 'rcpt',
  host: 'mx.example.net',
  ip: '192.0.2.1',
  sent: `RCPT TO:<${recipient}>`,
  reply: { code, enhanced: null, text },
  note: null,
  at: 0,
  ms: 1,
})

const told = (one: Delivery, attempts: Attempt[]) =>
  listWaits({ deliveries: [one], attempts }).map(({ from, until, reason }) => [from, until, reason])

test('a delivery attempted within a second has no wait', () => {
  expect(told(delivery(), [attempt(999)])).toEqual([])
  expect(told(delivery(), [])).toEqual([])
})

test('a late attempt shows the recorded reason for its wait', () => {
  const waited = { since: 0, reason: 'rate', why: 'rate limit' } as const
  expect(listWaits({ deliveries: [delivery()], attempts: [attempt(35 * SECOND, { waited })] })).toEqual([
    { deliveryId: 'd', from: 0, until: 35 * SECOND, reason: 'rate', why: 'rate limit' },
  ])
})

test('a late attempt without a recorded reason shows an unknown wait', () => {
  expect(told(delivery(), [attempt(35 * SECOND)])).toEqual([[0, 35 * SECOND, 'unknown']])
})

test('the wait until the scheduled time comes first, followed by the recorded reason', () => {
  const one = delivery({ scheduledAt: 60 * SECOND })
  const waited = { since: 60 * SECOND, reason: 'held', why: 'held' } as const
  expect(told(one, [attempt(90 * SECOND, { waited })])).toEqual([
    [0, 60 * SECOND, 'scheduled'],
    [60 * SECOND, 90 * SECOND, 'held'],
  ])
})

test('the wait after a temporary failure is a retry, or greylisting if the recipient’s reply says so', () => {
  const later = attempt(300 * SECOND, {
    waited: { since: 200 * SECOND, reason: 'connections', why: 'connections' },
  })
  const grey = (recipient: string) =>
    attempt(0, { steps: [rcpt(recipient, 450, 'Greylisted, come back later')] })
  expect(told(delivery(), [later, grey('ada@example.net')])).toEqual([
    [SECOND, 200 * SECOND, 'greylisting'],
    [200 * SECOND, 300 * SECOND, 'connections'],
  ])
  expect(told(delivery(), [grey('bob@example.net'), later])[0]).toEqual([SECOND, 200 * SECOND, 'retry'])
})

test('the time from an interrupted first attempt to the next attempt is a wait', () => {
  const waited = { since: 60 * SECOND, reason: 'queue', why: 'queue' } as const
  expect(told(delivery(), [attempt(60 * SECOND, { waited })])).toEqual([[0, 60 * SECOND, 'interrupted']])
})
