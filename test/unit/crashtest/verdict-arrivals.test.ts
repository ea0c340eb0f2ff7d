import { describe, expect, test } from 'vitest'
import {
  createLedger,
  type Arrival,
  type Ledger,
  type ReceivedWebhook,
} from '../../../appliance/crashtest/ledger.ts'
import { didArrivalsPass, evaluateArrivals } from '../../../appliance/crashtest/verdict-arrivals.ts'

const GONE = 'gone-r1-0@crash1.test'

const email = (change: Partial<Arrival> = {}): Arrival => ({
  mark: 'm1',
  recipient: 'user-m1@receiving.test',
  about: null,
  tries: [{ mark: 'm1.1', run: 1, accepted: true }],
  refused: null,
  ...change,
})

const report = (change: Partial<Arrival> = {}): Arrival =>
  email({ mark: 'd1', about: { emailId: 'id-1', recipient: GONE }, ...change })

const told = (change: Partial<ReceivedWebhook> = {}): ReceivedWebhook => ({
  id: 'msg_1',
  emailId: 'in-1',
  type: 'email.received',
  at: 0,
  to: [],
  ...change,
})

const ledger = (change: Partial<Ledger>): Ledger => ({
  ...createLedger(),
  kills: [
    {
      number: 1,
      runs: [1],
      how: 'random',
      at: 1,
      until: null,
      conversations: 0,
      inFlight: 0,
      leased: null,
      freedMs: null,
    },
  ],
  received: [],
  ...change,
})

const stored = { id: 'in-1', mark: 'm1.1', whole: true }
const bounced = told({ type: 'email.bounced', emailId: 'id-1', to: [GONE] })

describe('verdict on a received email', () => {
  test('a received email passes if it was stored once and its event was received', () => {
    const verdict = evaluateArrivals(
      ledger({ arrivals: [email()], received: [stored], told: [told(), told()] }),
    )
    expect(verdict).toMatchObject({ emails: 1, reports: 0, resent: 0 })
    expect(didArrivalsPass(verdict)).toBe(true)
  })

  test.each<[string, Partial<Ledger>, object]>([
    ['is lost', {}, { lost: ['m1.1'] }],
    [
      'is stored twice',
      { received: [stored, { ...stored, id: 'in-2' }] },
      { wrong: ['m1.1: stored 2 times'] },
    ],
    [
      'has another text',
      { received: [{ ...stored, whole: false }], told: [told()] },
      { wrong: ['m1.1: stored with another text'] },
    ],
    ['has no event', { received: [stored] }, { untold: ['m1.1: 0 events'] }],
    [
      'has two events',
      { received: [stored], told: [told(), told({ id: 'msg_2' })] },
      { untold: ['m1.1: 2 events'] },
    ],
    [
      'is unknown',
      { received: [stored, { ...stored, mark: 'm9.1' }], told: [told()] },
      { wrong: ['m9.1: nobody sent it'] },
    ],
  ])('a received email fails if it %s', (_, change, expected) => {
    const verdict = evaluateArrivals(ledger({ arrivals: [email()], ...change }))
    expect(verdict).toMatchObject(expected)
    expect(didArrivalsPass(verdict)).toBe(false)
  })

  test('a received email may be stored twice if a kill interrupted the reply, but not without a kill', () => {
    const tries = [
      { mark: 'm1.1', run: 1, accepted: false },
      { mark: 'm1.2', run: 2, accepted: true },
    ]
    const received = [stored, { id: 'in-2', mark: 'm1.2', whole: true }]
    const evidence = {
      arrivals: [email({ tries })],
      received,
      told: [told(), told({ id: 'msg_2', emailId: 'in-2' })],
    }
    const verdict = evaluateArrivals(ledger(evidence))
    expect(verdict.resent).toBe(1)
    expect(didArrivalsPass(verdict)).toBe(true)
    expect(evaluateArrivals(ledger({ ...evidence, kills: [] })).wrong).toEqual([
      'm1.1: stored without a reply, and no kill took it',
    ])
  })
})

describe('verdict on a delivery report', () => {
  test('a delivery report passes if it was stored and the bounce was received once', () => {
    const verdict = evaluateArrivals(
      ledger({ arrivals: [report()], returned: { 'id-1': 1 }, told: [bounced, bounced] }),
    )
    expect(verdict).toMatchObject({ emails: 0, reports: 1 })
    expect(didArrivalsPass(verdict)).toBe(true)
  })

  test.each<[string, Partial<Ledger>, object]>([
    ['is lost', { told: [bounced] }, { lost: [`d1 ${GONE}`] }],
    ['has no event', { returned: { 'id-1': 1 } }, { untold: [`d1 ${GONE}: 0 bounce events`] }],
    [
      'has two events',
      { returned: { 'id-1': 1 }, told: [bounced, { ...bounced, id: 'msg_2' }] },
      { untold: [`d1 ${GONE}: 2 bounce events`] },
    ],
    [
      'is stored more often than sent',
      { returned: { 'id-1': 2 }, told: [bounced] },
      { wrong: ['id-1: 2 reports are stored, 1 were sent'] },
    ],
  ])('a delivery report fails if it %s', (_, change, expected) => {
    const verdict = evaluateArrivals(ledger({ arrivals: [report()], ...change }))
    expect(verdict).toMatchObject(expected)
    expect(didArrivalsPass(verdict)).toBe(false)
  })
})

test('a permanent rejection is reported as a fault', () => {
  const verdict = evaluateArrivals(ledger({ arrivals: [email({ tries: [], refused: '550 no' })] }))
  expect(verdict.refused).toEqual(['m1: 550 no'])
})
