import { describe, expect, test } from 'vitest'
import {
  describeLaneReason,
  formatWaitReason,
  describeWait,
  type LaneReason,
  type WaitReason,
} from '../../../appliance/mail/waiting.ts'

const where = { provider: 'Google', source: '192.0.2.7' }
const reply = { code: 421, enhanced: '4.7.28', text: 'Too much mail.\nSlow down.' }
const answered: LaneReason = { key: 'answered', reply, says: 'wants less mail (for now).' }

describe('queue reasons in one line', () => {
  test.each<[WaitReason, string]>([
    [{ key: 'held' }, 'Held by an operator'],
    [{ key: 'scheduled' }, 'Scheduled by the sender'],
    [{ key: 'due' }, 'Next in line'],
    [{ key: 'in_flight', attempt: 2 }, 'Attempt 2 is in progress'],
    [
      { key: 'deferred', attempt: 2, note: 'mx.a.test wants less mail.', reply },
      'mx.a.test wants less mail (421 4.7.28)',
    ],
    [{ key: 'deferred', attempt: 2, note: 'mx.a.test answered 421.', reply }, 'mx.a.test answered 421'],
    [{ key: 'deferred', attempt: 2, note: 'One.\n Two (three.).', reply: null }, 'One. Two (three.)'],
    [
      { key: 'paused', because: { key: 'paused_by_operator' }, ...where },
      'Google from 192.0.2.7 is paused by an operator',
    ],
    [{ key: 'paused', because: null, ...where, source: null }, 'Google is paused by an operator'],
    [
      { key: 'paused', because: answered, ...where },
      'Google replied "421 4.7.28 Too much mail. Slow down.": it wants less mail (for now)',
    ],
    [
      { key: 'warm_up', sent: 50, share: 50, ...where },
      'Warm-up: 50 of 50 messages to Google sent today from 192.0.2.7',
    ],
    [
      { key: 'rate', rate: 1, because: answered, ...where },
      'Rate limit: 1 message a minute to Google from 192.0.2.7',
    ],
    [
      { key: 'connections', connections: 5, because: null, ...where },
      'Waiting for one of 5 connections to Google from 192.0.2.7',
    ],
    [
      { key: 'no_source', note: 'No source address can be used: a is suspended (it is listed).' },
      'No source address can be used: a is suspended (it is listed)',
    ],
  ])('formats a queue reason in one line: %j', (reason, line) => expect(formatWaitReason(reason)).toBe(line))
})

const lanes: LaneReason[] = [
  answered,
  { key: 'one_at_a_time', note: 'it has had enough.' },
  { key: 'fewer_connections', connections: 1, note: 'it has had enough.' },
  { key: 'unreachable', attempts: 5, note: 'nobody answered..' },
  { key: 'recovering', connections: 2, rate: 60 },
  { key: 'recovered' },
  { key: 'paused_by_operator' },
  { key: 'resumed_by_operator' },
  { key: 'warm_up_setback', messages: 50, sent: 100, complained: 11 },
  { key: 'warm_up_setback', messages: 50, sent: 100, complained: 0, because: answered },
  { key: 'text', text: 'an old sentence.' },
]

describe('a queue reason with its time', () => {
  const all = lanes.flatMap((because): WaitReason[] => [
    { key: 'paused', because, ...where },
    { key: 'rate', rate: 6, because, ...where },
    { key: 'connections', connections: 1, because, ...where },
  ])

  test.each(all)('a reason contains the time zone once and has no duplicate punctuation: %j', (reason) => {
    const text = describeWait(reason, 7, (at) => `<${at}>`)
    expect(text).not.toMatch(/\.\.|\.\)|\)\)|\(\S*\(|\.$|UTC|undefined|null/)
    expect(text.split('<7>').length).toBe(reason.key === 'paused' ? 2 : 1)
  })

  test('a reason contains no time for a lane decision', () => {
    for (const reason of lanes) expect(describeLaneReason(reason, 'Google')).not.toMatch(/\d\d:\d\d|UTC|\.$/)
  })
})
