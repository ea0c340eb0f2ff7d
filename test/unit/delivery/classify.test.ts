import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'smol-toml'
import { describe, expect, test } from 'vitest'
import { createClassifier } from '../../../appliance/mail/classify.ts'
import type { BounceRule, Phase } from '../../../appliance/mail/bounce.ts'
import { parseReply } from '../../../appliance/mail/reply.ts'
import { REPLIES } from './replies.ts'
import { costOf } from '../../world/cost.ts'
import { loadBounceRules } from '../../../appliance/config/config.ts'

const SHIPPED_PROVIDERS = join(import.meta.dirname, '../../../config/providers.toml')
const shipped = loadBounceRules()
const classify = createClassifier(() => shipped)
const reply = (text: string) => parseReply(text)!

describe('classification of real replies', () => {
  test('covers at least 500 distinct replies, 450 of them with a published source', () => {
    expect(REPLIES.length).toBeGreaterThanOrEqual(500)
    expect(REPLIES.filter(({ source }) => source !== 'from knowledge').length).toBeGreaterThanOrEqual(450)
    const keys = REPLIES.map((row) => [row.provider, row.phase, row.reply].join())
    expect(new Set(keys).size).toBe(REPLIES.length)
  })

  test.each(REPLIES)('$who at $phase: $reply', ({ reply: text, phase, provider, ...expected }) => {
    const { action, category, subType } = classify(reply(text), { phase, provider })
    expect({ action, category, subType }).toEqual({
      action: expected.action,
      category: expected.category,
      subType: expected.subType,
    })
  })

  test('defers every reply with a 4yz code, whatever its text', () => {
    for (const { reply: text, phase, provider } of REPLIES) {
      const softened = reply(text.replaceAll(/^5/gm, '4'))
      expect(classify(softened, { phase, provider }).action).toBe('defer')
    }
  })

  test('ignores words inside an echoed address', () => {
    const text = '550 5.1.1 <spam.blocked@helo-not-valid.test>: Recipient address rejected: User unknown'
    expect(classify(reply(text), { phase: 'rcpt' })).toMatchObject({
      category: 'recipient',
      action: 'suppress',
    })
  })

  test('never suppresses a recipient for a reply before RCPT', () => {
    for (const { reply: text, provider } of REPLIES) {
      for (const phase of ['greeting', 'ehlo', 'starttls'] as const)
        expect(classify(reply(text), { phase, provider }).action).toBe('defer')
      expect(classify(reply(text), { phase: 'mail', provider }).action).not.toBe('suppress')
    }
  })

  test('never ends a delivery for the reputation of the sending IP', () => {
    for (const { reply: text, provider } of REPLIES) {
      const found = classify(reply(text), { phase: 'rcpt', provider })
      if (found.category === 'reputation') expect(found.action).toBe('defer')
      if (found.action === 'suppress') expect(found.category).toBe('recipient')
    }
  })

  test('classifies "user unknown" together with a blocklisted IP as reputation', () => {
    const text = '550 5.1.1 User unknown; your IP is listed at zen.spamhaus.org'
    expect(classify(reply(text), { phase: 'rcpt' })).toMatchObject({
      category: 'reputation',
      action: 'defer',
    })
  })

  test('reaches every shipped rule that has a text pattern', () => {
    const reached = new Set(
      REPLIES.map(({ reply: text, phase, provider }) => classify(reply(text), { phase, provider }).topic),
    )
    const unreached = shipped
      .filter(({ topic, text }) => text && !reached.has(topic))
      .map(({ topic }) => topic)
    expect(unreached).toEqual([])
  })
})

describe('advice and shaping', () => {
  test('a reply about a Microsoft block has a delisting link and asks for a pause', () => {
    const text = "550 5.7.1 Unfortunately, messages from [192.0.2.1] weren't sent, on our block list (S3140)."
    expect(classify(reply(text), { phase: 'mail', provider: 'outlook' })).toMatchObject({
      topic: 'microsoft-block',
      advice: { link: 'https://go.microsoft.com/fwlink/?LinkID=614866' },
      shaping: { kind: 'pause', minutes: 240 },
    })
  })

  test.each([
    [
      "421 RP-001 Unfortunately, some messages from 192.0.2.1 weren't sent. We have limits.",
      'microsoft-rate',
    ],
    ["421 RP-002 Unfortunately, some messages from 192.0.2.1 weren't sent.", 'microsoft-rate'],
    ["421 RP-003 Unfortunately, some messages from 192.0.2.1 weren't sent.", 'too-many-connections'],
  ])('a Microsoft rate limit is not classified as a blocklisting: %s', (text, topic) => {
    const found = classify(reply(text), { phase: 'mail', provider: 'outlook' })
    expect(found).toMatchObject({ topic, category: 'quota' })
    expect(found.says).not.toContain('list')
  })

  test.each([
    ['421 4.7.0 mx.example.org Error: too many connections from 192.0.2.1', 'connections'],
    ['421 Too many concurrent SMTP connections; please try again later.', 'connections'],
    ['421 Connection refused, too many sessions from This IP.', 'connections'],
    ['421 HL:ICC 163 mx30,abc', 'connections'],
    ['421 ME Trop de connexions, veuillez verifier votre configuration. OFR005_104', 'connections'],
    ['421 4.7.0 too many connections per minute', 'slow'],
    ['450 4.7.1 too many connections in the last hour', 'slow'],
    ['450 4.7.1 Too many messages, slow down', 'slow'],
    ['452 4.3.2 Connection rate limit exceeded.', 'slow'],
    ['450 4.7.1 Error: too much mail from 192.0.2.1', 'slow'],
    ['450 4.7.1 Error: too many recipients from 192.0.2.1', 'slow'],
    ['421 4.7.0 mx.example.org Error: too many new TLS sessions from 192.0.2.1', 'slow'],
  ])('connection limits and rate limits ask for different shaping: %s', (text, kind) => {
    expect(classify(reply(text), { phase: 'greeting' }).shaping?.kind).toBe(kind)
  })

  test.each([
    ['554 no SMTP service', 'greeting'],
    ['550 5.7.1 Your email was rejected due to having a domain present in the CS blacklist', 'body'],
  ] as const)('a reply that is not about the sending IP asks for no shaping: %s', (text, phase) => {
    expect(classify(reply(text), { phase }).shaping).toBeUndefined()
  })

  test('a missing mailbox asks for no shaping', () => {
    expect(classify(reply('550 5.1.1 No such user'), { phase: 'rcpt' })).toEqual({
      topic: 'no-mailbox',
      category: 'recipient',
      action: 'suppress',
      says: 'says that the mailbox does not exist',
      subType: 'NoEmail',
    })
  })
})

test('all providers named in bounce rules and test replies exist in providers.toml', () => {
  const known = parse(readFileSync(SHIPPED_PROVIDERS, 'utf8'))
  const named = [
    ...shipped.flatMap(({ provider = [] }) => provider),
    ...REPLIES.map(({ provider }) => provider),
  ]
  expect([...new Set(named)].filter((id) => id !== null && !(id in known))).toEqual([])
})

describe('bounce rules', () => {
  const rule = (conditions: Partial<BounceRule>): BounceRule => ({
    topic: 'mine',
    category: 'policy',
    action: 'bounce',
    says: 'says so',
    subType: 'General',
    ...conditions,
  })
  const fits = (
    conditions: Partial<BounceRule>,
    text: string,
    phase: Phase = 'rcpt',
    provider: string | null = null,
  ): boolean => createClassifier(() => [rule(conditions)])(reply(text), { phase, provider }).topic === 'mine'

  test.each([
    [{ code: ['550'] }, '550 no', true],
    [{ code: ['55x'] }, '554 no', true],
    [{ code: ['5xx'] }, '521 no', true],
    [{ code: ['5xx'] }, '450 no', false],
    [{ code: ['551', '552'] }, '552 no', true],
    [{ enhanced: ['5.1.1'] }, '550 5.1.1 no', true],
    [{ enhanced: ['5.1.1'] }, '550 5.1.10 no', false],
    [{ enhanced: ['x.1.1'] }, '450 4.1.1 no', true],
    [{ enhanced: ['5.7.x'] }, '550 5.7.511 no', true],
    [{ enhanced: ['5.7.606-649'] }, '550 5.7.649 no', true],
    [{ enhanced: ['5.7.606-649'] }, '550 5.7.650 no', false],
    [{ enhanced: ['5.1.1'] }, '550 no', false],
    [{ enhanced: ['5.1.1'] }, '550 sorry (#5.1.1)', true],
    [{ text: [/one/iu, /two/iu] }, '550 it is TWO', true],
    [{ text: [/one two/iu] }, '550-one\r\n550 two', true],
    [{ phase: ['body'] }, '550 no', false],
    [{ provider: ['yahoo'] }, '550 no', false],
    [{ code: ['550'], text: [/yes/iu] }, '550 no', false],
  ] as [Partial<BounceRule>, string, boolean][])(
    'conditions %j on reply "%s" match: %s',
    (conditions, text, expected) => {
      expect(fits(conditions, text)).toBe(expected)
    },
  )

  test('a rule limited to providers matches only replies from them', () => {
    expect(fits({ provider: ['yahoo', 'gmx'] }, '550 no', 'rcpt', 'gmx')).toBe(true)
    expect(fits({ provider: ['yahoo', 'gmx'] }, '550 no', 'rcpt', 'google')).toBe(false)
  })

  test('the first matching rule wins', () => {
    const both = createClassifier(() => [
      rule({ topic: 'first', code: ['5xx'] }),
      rule({ topic: 'second', code: ['550'] }),
    ])
    expect(both(reply('550 no'), { phase: 'rcpt' }).topic).toBe('first')
  })

  test('a reply that matches no rule is deferred as unknown', () => {
    expect(createClassifier(() => [])(reply('550 no'), { phase: 'rcpt' })).toMatchObject({
      topic: 'unknown',
      action: 'defer',
    })
  })

  test('every 4yz and 5yz code matches a shipped rule in every phase', () => {
    for (const code of ['421', '450', '500', '521', '550', '571', '599'])
      for (const phase of [
        'connect',
        'greeting',
        'ehlo',
        'starttls',
        'mail',
        'rcpt',
        'data',
        'body',
      ] as const)
        expect(classify(reply(`${code} xyzzy`), { phase }).topic).not.toBe('unknown')
  })
})

test('no shipped pattern backtracks on hostile text of 2000 characters', async () => {
  const pieces = [
    'a',
    'user ',
    'mailbox not ',
    'too many ',
    'ip ',
    'spam ',
    '<',
    'no such e-',
    'sender address ',
    'message size ',
    'client host ',
    'recipient address rejected: ',
    'account ',
    'unknown ',
    'helo ',
    '1.2.',
    '(',
    ' .',
  ]
  for (const { topic, text = [] } of shipped) {
    for (const pattern of text) {
      for (const piece of pieces) {
        const hostile = piece.repeat(2000).slice(0, 2000)
        const costs: number[] = []
        for (let n = 0; n < 3; n++) costs.push(await costOf(() => pattern.test(hostile)))
        // Takes the minimum of three runs, because garbage collection may interfere. Measured: 0.2 ms at most.
        expect(Math.min(...costs), `${topic}: ${pattern.source.slice(0, 60)} on ${piece}`).toBeLessThan(20)
      }
    }
  }
})
