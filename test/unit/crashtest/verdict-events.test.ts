import { describe, expect, test } from 'vitest'
import type { ReportedEvent, SentEmail, ReceivedWebhook } from '../../../appliance/crashtest/ledger.ts'
import { evaluateEvents } from '../../../appliance/crashtest/verdict-events.ts'

const RECIPIENT = 'user-r1-0@crash1.test'
const AT = Date.parse('2026-11-20T08:00:00.500Z')
const KEY = 'id-1 email.delivered 2026-11-20T08:00:00.500Z'

const known = (change: Partial<ReportedEvent> = {}): ReportedEvent => ({
  emailId: 'id-1',
  type: 'email.delivered',
  at: AT,
  ...change,
})

const told = (change: Partial<ReceivedWebhook> = {}): ReceivedWebhook => ({
  ...known(),
  id: 'msg_1',
  to: [RECIPIENT],
  ...change,
})

const sent = (change: Partial<SentEmail> = {}): SentEmail => ({
  mark: 'r1',
  recipients: [RECIPIENT],
  ids: ['id-1'],
  tries: [],
  refused: null,
  at: 500,
  batch: null,
  notBefore: null,
  ...change,
})

describe('events the endpoint must have received', () => {
  test('expected events pass if each was received once', () => {
    expect(evaluateEvents({ known: [known()], told: [told()], sent: [sent()] })).toEqual({
      events: 1,
      told: 1,
      repeated: 0,
      untold: [],
      strange: [],
    })
  })

  test('missing events are listed with email ID and time', () => {
    const verdict = evaluateEvents({
      known: [known(), known({ type: 'email.sent' })],
      told: [told()],
      sent: [],
    })
    expect(verdict.untold).toEqual(['id-1 email.sent 2026-11-20T08:00:00.500Z'])
  })

  test('two events with the same type and time need two IDs', () => {
    const twice = { known: [known(), known()], sent: [] }
    expect(evaluateEvents({ ...twice, told: [told(), told()] }).untold).toEqual([`${KEY}: 1 of 2`])
    expect(evaluateEvents({ ...twice, told: [told(), told({ id: 'msg_2' })] })).toMatchObject({
      untold: [],
      strange: [],
    })
  })

  test('expects a final event for each accepted recipient, whatever the daemon stored', () => {
    const other = { known: [known()], told: [told({ to: ['user-r2-0@crash1.test'] })] }
    expect(evaluateEvents({ ...other, sent: [sent()] }).untold).toEqual([
      `r1 ${RECIPIENT}: no word of its end`,
    ])
    const tries = [{ mark: 's1.1', run: 1, accepted: true }]
    expect(evaluateEvents({ ...other, sent: [sent({ mark: 's1', ids: [], tries })] }).untold).toEqual([
      `s1 ${RECIPIENT}: no word of its end`,
    ])
  })

  test('expects no events for emails whose submission was never answered', () => {
    expect(evaluateEvents({ known: [], told: [], sent: [sent({ ids: [] })] }).untold).toEqual([])
  })

  test('email.sent does not count as a final event', () => {
    const type = 'email.sent'
    const verdict = evaluateEvents({ known: [known({ type })], told: [told({ type })], sent: [sent()] })
    expect(verdict.untold).toEqual([`r1 ${RECIPIENT}: no word of its end`])
  })
})

describe('unexpected events', () => {
  test('a repeated ID is not unexpected', () => {
    expect(evaluateEvents({ known: [known()], told: [told(), told()], sent: [] })).toMatchObject({
      told: 1,
      repeated: 1,
      strange: [],
    })
  })

  test('one event with two IDs is unexpected', () => {
    const verdict = evaluateEvents({ known: [known()], told: [told(), told({ id: 'msg_2' })], sent: [] })
    expect(verdict.strange).toEqual([`${KEY}: 2 ids for one event`])
  })

  test('an ID used for two events is unexpected', () => {
    const both = [known(), known({ type: 'email.sent' })]
    const verdict = evaluateEvents({ known: both, told: [told(), told({ type: 'email.sent' })], sent: [] })
    expect(verdict.strange).toEqual([`msg_1: told ${KEY}, then id-1 email.sent 2026-11-20T08:00:00.500Z`])
  })

  test('an event that the daemon has not stored is unexpected', () => {
    const verdict = evaluateEvents({ known: [], told: [told()], sent: [] })
    expect(verdict.strange).toEqual([`${KEY}: told, and the daemon knows no such event`])
  })

  test('does not check for unexpected events if the daemon’s events were not read', () => {
    expect(evaluateEvents({ known: null, told: [told()], sent: [] })).toMatchObject({
      events: 0,
      strange: [],
    })
  })

  test('events that are not about an email are not unexpected', () => {
    const suppression = told({ id: 'msg_9', emailId: null, type: 'suppression.added', to: [] })
    expect(evaluateEvents({ known: [], told: [suppression], sent: [] })).toEqual({
      events: 0,
      told: 1,
      repeated: 0,
      untold: [],
      strange: [],
    })
  })
})
