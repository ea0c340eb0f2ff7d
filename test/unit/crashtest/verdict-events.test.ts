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

describe('what the endpoint must have been told', () => {
  test('an event that it was told of once is well', () => {
    expect(judgeEvents({ known: [known()], told: [told()], sent: [sent()] })).toEqual({
      events: 1,
      told: 1,
      repeated: 0,
      untold: [],
      strange: [],
    })
  })

  test('one that it never heard of is named, with its email and instant', () => {
    const verdict = judgeEvents({ known: [known(), known({ type: 'email.sent' })], told: [told()], sent: [] })
    expect(verdict.untold).toEqual(['id-1 email.sent 2026-11-20T08:00:00.500Z'])
  })

  test('two events of one kind and one instant need two ids', () => {
    const twice = { known: [known(), known()], sent: [] }
    expect(judgeEvents({ ...twice, told: [told(), told()] }).untold).toEqual([`${KEY}: 1 of 2`])
    expect(judgeEvents({ ...twice, told: [told(), told({ id: 'msg_2' })] })).toMatchObject({
      untold: [],
      strange: [],
    })
  })

  test('an accepted recipient whose end it was not told of is named, whatever the daemon knows', () => {
    const other = { known: [known()], told: [told({ to: ['user-r2-0@crash1.test'] })] }
    expect(judgeEvents({ ...other, sent: [sent()] }).untold).toEqual([`r1 ${RECIPIENT}: no word of its end`])
    const tries = [{ mark: 's1.1', run: 1, accepted: true }]
    expect(judgeEvents({ ...other, sent: [sent({ mark: 's1', ids: [], tries })] }).untold).toEqual([
      `s1 ${RECIPIENT}: no word of its end`,
    ])
  })

  test('one that was never answered promises nothing', () => {
    expect(judgeEvents({ known: [], told: [], sent: [sent({ ids: [] })] }).untold).toEqual([])
  })

  test('a word that it was sent is no word of its end', () => {
    const type = 'email.sent'
    const verdict = judgeEvents({ known: [known({ type })], told: [told({ type })], sent: [sent()] })
    expect(verdict.untold).toEqual([`r1 ${RECIPIENT}: no word of its end`])
  })
})

describe('what it may not have been told', () => {
  test('the same id again is a repetition, and well', () => {
    expect(judgeEvents({ known: [known()], told: [told(), told()], sent: [] })).toMatchObject({
      told: 1,
      repeated: 1,
      strange: [],
    })
  })

  test('one event under two ids is strange', () => {
    const verdict = judgeEvents({ known: [known()], told: [told(), told({ id: 'msg_2' })], sent: [] })
    expect(verdict.strange).toEqual([`${KEY}: 2 ids for one event`])
  })

  test('so is an id that tells two things', () => {
    const both = [known(), known({ type: 'email.sent' })]
    const verdict = judgeEvents({ known: both, told: [told(), told({ type: 'email.sent' })], sent: [] })
    expect(verdict.strange).toEqual([`msg_1: told ${KEY}, then id-1 email.sent 2026-11-20T08:00:00.500Z`])
  })

  test('so is an event that the daemon knows nothing of', () => {
    const verdict = judgeEvents({ known: [], told: [told()], sent: [] })
    expect(verdict.strange).toEqual([`${KEY}: told, and the daemon knows no such event`])
  })

  test('unless it was never asked', () => {
    expect(judgeEvents({ known: null, told: [told()], sent: [] })).toMatchObject({ events: 0, strange: [] })
  })

  test('what is not about an email is counted and not judged', () => {
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
