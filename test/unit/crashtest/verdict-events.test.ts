import { describe, expect, test } from 'vitest'
import type { KnownEvent, Sent, Told } from '../../../appliance/crashtest/ledger.ts'
import { judgeEvents } from '../../../appliance/crashtest/verdict-events.ts'

const RECIPIENT = 'user-r1-0@crash1.test'
const AT = Date.parse('2026-11-20T08:00:00.500Z')
const KEY = 'id-1 email.delivered 2026-11-20T08:00:00.500Z'

const known = (change: Partial<KnownEvent> = {}): KnownEvent => ({
  emailId: 'id-1',
  type: 'email.delivered',
  at: AT,
  ...change,
})

const told = (change: Partial<Told> = {}): Told => ({
  ...known(),
  id: 'msg_1',
  to: [RECIPIENT],
  ...change,
})

const sent = (change: Partial<Sent> = {}): Sent => ({
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
  test('pass when each was received once', () => {
    expect(judgeEvents({ known: [known()], told: [told()], sent: [sent()] })).toEqual({
      events: 1,
      told: 1,
      repeated: 0,
      untold: [],
      strange: [],
    })
  })

  test('are listed as missing with email ID and time', () => {
    const verdict = judgeEvents({ known: [known(), known({ type: 'email.sent' })], told: [told()], sent: [] })
    expect(verdict.untold).toEqual(['id-1 email.sent 2026-11-20T08:00:00.500Z'])
  })

  test('need two IDs if two have the same type and time', () => {
    const twice = { known: [known(), known()], sent: [] }
    expect(judgeEvents({ ...twice, told: [told(), told()] }).untold).toEqual([`${KEY}: 1 of 2`])
    expect(judgeEvents({ ...twice, told: [told(), told({ id: 'msg_2' })] })).toMatchObject({
      untold: [],
      strange: [],
    })
  })

  test('include a final event for each accepted recipient, whatever the daemon stored', () => {
    const other = { known: [known()], told: [told({ to: ['user-r2-0@crash1.test'] })] }
    expect(judgeEvents({ ...other, sent: [sent()] }).untold).toEqual([`r1 ${RECIPIENT}: no word of its end`])
    const tries = [{ mark: 's1.1', run: 1, accepted: true }]
    expect(judgeEvents({ ...other, sent: [sent({ mark: 's1', ids: [], tries })] }).untold).toEqual([
      `s1 ${RECIPIENT}: no word of its end`,
    ])
  })

  test('do not include emails whose submission was never answered', () => {
    expect(judgeEvents({ known: [], told: [], sent: [sent({ ids: [] })] }).untold).toEqual([])
  })

  test('are not replaced by email.sent as the final event', () => {
    const type = 'email.sent'
    const verdict = judgeEvents({ known: [known({ type })], told: [told({ type })], sent: [sent()] })
    expect(verdict.untold).toEqual([`r1 ${RECIPIENT}: no word of its end`])
  })
})

describe('unexpected events', () => {
  test('do not include a repeated ID', () => {
    expect(judgeEvents({ known: [known()], told: [told(), told()], sent: [] })).toMatchObject({
      told: 1,
      repeated: 1,
      strange: [],
    })
  })

  test('include one event with two IDs', () => {
    const verdict = judgeEvents({ known: [known()], told: [told(), told({ id: 'msg_2' })], sent: [] })
    expect(verdict.strange).toEqual([`${KEY}: 2 ids for one event`])
  })

  test('include an ID used for two events', () => {
    const both = [known(), known({ type: 'email.sent' })]
    const verdict = judgeEvents({ known: both, told: [told(), told({ type: 'email.sent' })], sent: [] })
    expect(verdict.strange).toEqual([`msg_1: told ${KEY}, then id-1 email.sent 2026-11-20T08:00:00.500Z`])
  })

  test('include an event that the daemon has not stored', () => {
    const verdict = judgeEvents({ known: [], told: [told()], sent: [] })
    expect(verdict.strange).toEqual([`${KEY}: told, and the daemon knows no such event`])
  })

  test("are not judged if the daemon's events were not read", () => {
    expect(judgeEvents({ known: null, told: [told()], sent: [] })).toMatchObject({ events: 0, strange: [] })
  })

  test('do not include events that are not about an email', () => {
    const suppression = told({ id: 'msg_9', emailId: null, type: 'suppression.added', to: [] })
    expect(judgeEvents({ known: [], told: [suppression], sent: [] })).toEqual({
      events: 0,
      told: 1,
      repeated: 0,
      untold: [],
      strange: [],
    })
  })
})
