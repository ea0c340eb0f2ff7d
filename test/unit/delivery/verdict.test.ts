import { describe, expect, test } from 'vitest'
import { createClassifier } from '../../../appliance/mail/classify.ts'
import { decideVerdict, type VerdictContext } from '../../../appliance/delivery/verdict.ts'
import type { Failure, RecipientResult } from '../../../appliance/delivery/outcome.ts'
import { parseReply } from '../../../appliance/mail/reply.ts'
import { RETRY_PERIOD } from '../../../appliance/queue/schedule.ts'
import { REPLIES } from './replies.ts'
import { loadBounceRules } from '../../../appliance/config/config.ts'

const rules = loadBounceRules()

const now = 1_790_000_000_000
const recipient = 'u@example.org'
const history = { recipient, attempts: 1, createdAt: now, expiresAt: now + RETRY_PERIOD }
const bench: VerdictContext = { classify: createClassifier(() => rules), alone: true, random: 0 }
const failed = (failure: Partial<Failure>): RecipientResult => ({
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
const said = (phase: Failure['phase'], text: string): RecipientResult =>
  failed({ kind: 'reply', phase, reply: parseReply(text)! })

describe('a retry', () => {
  const delay = (text: string): number => {
    const verdict = decideVerdict(said('greeting', text), history, now, bench)
    return verdict.kind === 'deferred' ? verdict.until - now : NaN
  }

  test('a retry is due after a minute, or after 5 seconds if the server limits connections', () => {
    expect(delay('421 4.7.0 Too many messages')).toBe(60_000)
    expect(delay('421 4.7.0 Too many connections')).toBe(5000)
  })
})

describe('a reply', () => {
  test('a reply ends or defers the delivery with the action and category of its row in replies.toml', () => {
    for (const { phase, reply, provider, action, category, subType } of REPLIES) {
      const verdict = decideVerdict(said(phase, reply), { ...history, provider }, now, bench)
      expect(verdict.cause.category, reply).toBe(category)
      if (action === 'defer') expect(verdict.kind, reply).toBe('deferred')
      else expect(verdict, reply).toMatchObject({ kind: 'bounced', subType, suppress: action === 'suppress' })
    }
  })

  test('a reply about a blocklisted sending IP leads to expiry, without suppression', () => {
    const text = '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using zen.spamhaus.org'
    const late = decideVerdict(said('rcpt', text), { ...history, expiresAt: now }, now, bench)
    expect(late).toMatchObject({ kind: 'expired', subType: 'General', cause: { category: 'reputation' } })
    expect(late).not.toHaveProperty('suppress')
  })

  test('a reply to a message with several recipients suppresses only the address it names', () => {
    const shared = { ...bench, alone: false }
    const named = "554 delivery error: dd This user doesn't have a yahoo.com account (U@example.org) [0]"
    expect(decideVerdict(said('body', named), history, now, shared)).toMatchObject({
      kind: 'bounced',
      suppress: true,
    })
    const other = { ...history, recipient: 'v@example.org' }
    expect(decideVerdict(said('body', named), other, now, shared)).toMatchObject({
      kind: 'bounced',
      suppress: false,
    })
    const nameless = said('body', '552 1 Requested mail action aborted, mailbox not found')
    expect(decideVerdict(nameless, history, now, shared)).toMatchObject({ kind: 'bounced', suppress: false })
    expect(decideVerdict(nameless, history, now, bench)).toMatchObject({ kind: 'bounced', suppress: true })
    const atRcpt = said('rcpt', '550 5.1.1 No such user')
    expect(decideVerdict(atRcpt, history, now, shared)).toMatchObject({ kind: 'bounced', suppress: true })
  })

  test('the cause of a reply includes the advice of its rule', () => {
    const { cause } = decideVerdict(said('greeting', '554 blocked, see www.spamcop.net'), history, now, bench)
    expect(cause.advice).toEqual({
      text: 'Look up the IP. Listings expire within a day after the last report.',
      link: 'https://www.spamcop.net/bl.shtml',
    })
  })
})

describe('failures without a reply', () => {
  test.each([
    ['dns', 'deferred', 'dns'],
    ['network', 'deferred', 'network'],
    ['timeout', 'deferred', 'network'],
    ['protocol', 'deferred', 'network'],
    ['tls', 'deferred', 'tls'],
    ['internal', 'deferred', 'temporary'],
    ['no-route', 'bounced', 'dns'],
    ['requiretls', 'bounced', 'tls'],
    ['unsupported', 'bounced', 'policy'],
    ['forbidden', 'failed', 'policy'],
    ['gone', 'failed', 'policy'],
  ] as const)('of kind %s are %s, with category %s', (kind, verdict, category) => {
    const judged = decideVerdict(failed({ kind }), history, now, bench)
    expect(judged.kind).toBe(verdict)
    expect(judged.cause).toEqual({
      phase: 'connect',
      host: 'mx.example.org',
      ip: '192.0.2.9',
      reply: null,
      category,
      note: 'It broke.',
    })
  })

  test.each([
    ['no-route', '5.1.2', 'dns', 'NoEmail', false],
    ['no-route', '5.1.3', 'dns', 'NoEmail', false],
    ['no-route', '5.1.10', 'recipient', 'NoEmail', true],
    ['no-route', '5.4.4', 'dns', 'General', false],
    ['unsupported', '5.3.4', 'size', 'MessageTooLarge', false],
    ['unsupported', '5.6.7', 'policy', 'General', false],
  ] as const)(
    'of kind %s with status %s bounce with category %s',
    (kind, status, category, subType, suppress) => {
      expect(decideVerdict(failed({ kind, status }), history, now, bench)).toMatchObject({
        kind: 'bounced',
        subType,
        suppress,
        cause: { status, category },
      })
    },
  )
})

describe('timing', () => {
  test('the next attempt follows the retry schedule, with jitter', () => {
    const network = failed({})
    expect(decideVerdict(network, history, now, bench)).toMatchObject({
      kind: 'deferred',
      until: now + 60_000,
    })
    expect(decideVerdict(network, history, now, { ...bench, random: 0.5 })).toMatchObject({
      until: now + 66_000,
    })
    expect(decideVerdict(network, { ...history, attempts: 4 }, now, bench)).toMatchObject({
      until: now + 20 * 60_000,
    })
  })

  test('a delivery expires if its next attempt would be after its lifetime', () => {
    const late = { ...history, expiresAt: now + 59_999 }
    expect(decideVerdict(failed({}), late, now, bench)).toMatchObject({ kind: 'expired', subType: 'General' })
    expect(decideVerdict(said('rcpt', '451 later'), late, now, bench).kind).toBe('expired')
    expect(decideVerdict(failed({}), { ...history, expiresAt: now + 60_000 }, now, bench).kind).toBe(
      'deferred',
    )
    expect(decideVerdict(said('rcpt', '550 no'), late, now, bench).kind).toBe('bounced')
  })
})

describe('the note about a reply', () => {
  test.each([
    ['rcpt', '550 5.1.1 No such user', 'mx.example.org says that the mailbox does not exist.'],
    ['rcpt', '550', 'mx.example.org refuses the recipient.'],
    ['mail', '550', 'mx.example.org refuses the sender.'],
    ['body', '554 no', 'mx.example.org refuses the message.'],
    ['rcpt', '450', 'mx.example.org cannot accept the message right now.'],
    ['rcpt', '450 Greylisted', 'mx.example.org asks to try again later (greylisting).'],
    [
      'greeting',
      '554 no',
      'mx.example.org offers no mail service to this server. The reply is permanent, but Posthaste retries in case that changes.',
    ],
  ] as const)('for a reply at %s, %s: %s', (phase, text, sentence) => {
    expect(decideVerdict(said(phase, text), history, now, bench).cause.note).toBe(sentence)
  })

  test('the note names the host of an accepted message', () => {
    const reply = parseReply('250 2.0.0 queued')!
    const fate: RecipientResult = { kind: 'accepted', host: 'mx.example.org', ip: '192.0.2.9', reply }
    expect(decideVerdict(fate, history, now, bench)).toEqual({
      kind: 'delivered',
      cause: {
        phase: 'body',
        host: 'mx.example.org',
        ip: '192.0.2.9',
        reply,
        note: 'mx.example.org accepted the message.',
      },
    })
  })
})
