import { describe, expect, test } from 'vitest'
import { judge } from '../../../appliance/delivery/judge.ts'
import type { Failure, Fate } from '../../../appliance/delivery/outcome.ts'
import { ruleFor } from '../../../appliance/delivery/reply-rules.ts'
import { parseReply } from '../../../appliance/mail/reply.ts'
import { LIFETIME } from '../../../appliance/spool/schedule.ts'
import { REPLIES } from './replies.ts'

const now = 1_790_000_000_000
const history = { attempts: 1, createdAt: now, expiresAt: now + LIFETIME }
const failed = (failure: Partial<Failure>): Fate => ({
  kind: 'failed',
  failure: {
    kind: 'network',
    phase: 'connect',
    host: 'mx.example.org',
    ip: '192.0.2.9',
    reply: null,
    note: 'It broke.',
    ...failure,
  },
})
const said = (phase: Failure['phase'], text: string): Fate =>
  failed({ kind: 'reply', phase, reply: parseReply(text)! })

describe('what a real reply means', () => {
  test('the table is worth its name', () => {
    expect(REPLIES.length).toBeGreaterThan(130)
    expect(new Set(REPLIES.map((row) => row.join())).size).toBe(REPLIES.length)
  })

  test.each(REPLIES)('%s at %s: %s', (_, phase, text, kind, subType) => {
    expect(judge(said(phase, text), history, now, 0).kind).toBe(kind)
    if (subType) expect(ruleFor(parseReply(text)!)?.subType ?? 'General').toBe(subType)
  })

  test('any 4xx in any phase is tried again', () => {
    for (const [, , text] of REPLIES) {
      const softened = text.replaceAll(/^5/gm, '4')
      expect(judge(said('rcpt', softened), history, now, 0).kind).toBe('deferred')
    }
  })

  test('rules take no time with a hostile text', () => {
    const started = performance.now()
    for (const piece of ['a', 'user ', 'mailbox not ', 'too many ', 'ip ', 'spam ', '<', 'no such e-']) {
      ruleFor({ code: 550, enhanced: null, text: piece.repeat(2000) })
    }
    expect(performance.now() - started).toBeLessThan(1000)
  })
})

describe('failures without a reply', () => {
  test.each([
    ['dns', 'deferred'],
    ['network', 'deferred'],
    ['timeout', 'deferred'],
    ['protocol', 'deferred'],
    ['tls', 'deferred'],
    ['internal', 'deferred'],
    ['no-route', 'bounced'],
    ['unsupported', 'bounced'],
    ['forbidden', 'failed'],
    ['gone', 'failed'],
  ] as const)('%s means %s', (kind, verdict) => {
    const judged = judge(failed({ kind }), history, now, 0)
    expect(judged.kind).toBe(verdict)
    expect(judged.cause).toMatchObject({
      phase: 'connect',
      host: 'mx.example.org',
      ip: '192.0.2.9',
      reply: null,
      note: 'It broke.',
    })
  })

  test('the status of what we found ourselves is kept', () => {
    expect(judge(failed({ kind: 'no-route', status: '5.1.10' }), history, now, 0).cause.status).toBe('5.1.10')
  })
})

describe('time', () => {
  test('the next attempt follows the schedule and the dice', () => {
    expect(judge(failed({}), history, now, 0)).toMatchObject({ kind: 'deferred', until: now + 60_000 })
    expect(judge(failed({}), history, now, 0.5)).toMatchObject({ kind: 'deferred', until: now + 66_000 })
    expect(judge(failed({}), { ...history, attempts: 4 }, now, 0)).toMatchObject({ until: now + 20 * 60_000 })
  })

  test('a delivery whose next attempt would come too late has expired', () => {
    const late = { ...history, expiresAt: now + 59_999 }
    expect(judge(failed({}), late, now, 0).kind).toBe('expired')
    expect(judge(said('rcpt', '451 later'), late, now, 0).kind).toBe('expired')
    expect(judge(failed({}), { ...history, expiresAt: now + 60_000 }, now, 0).kind).toBe('deferred')
    expect(judge(said('rcpt', '550 no'), late, now, 0).kind).toBe('bounced')
  })
})

describe('the sentence for people', () => {
  const note = (phase: Failure['phase'], text: string): string =>
    judge(said(phase, text), history, now, 0).cause.note
  test.each([
    ['rcpt', '550 5.1.1 No such user', 'mx.example.org says that the mailbox does not exist.'],
    ['rcpt', '550', 'mx.example.org refuses the recipient.'],
    ['mail', '550', 'mx.example.org refuses the sender.'],
    ['body', '554 no', 'mx.example.org refuses the message.'],
    ['rcpt', '450', 'mx.example.org cannot take the message at the moment.'],
    ['rcpt', '450 Greylisted', 'mx.example.org asks to come back later (greylisting).'],
    [
      'greeting',
      '554 no',
      'mx.example.org refuses to talk to this server. The reply says "never"; it is tried again, as this may pass.',
    ],
  ] as const)('at %s, %s: %s', (phase, text, sentence) => {
    expect(note(phase, text)).toBe(sentence)
  })

  test('an accepted message', () => {
    const reply = parseReply('250 2.0.0 queued')!
    expect(
      judge({ kind: 'accepted', host: 'mx.example.org', ip: '192.0.2.9', reply }, history, now, 0),
    ).toEqual({
      kind: 'delivered',
      cause: {
        phase: 'body',
        host: 'mx.example.org',
        ip: '192.0.2.9',
        reply,
        note: 'mx.example.org took the message.',
      },
    })
  })
})
