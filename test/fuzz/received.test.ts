import { expect, test } from 'vitest'
import type { Resolver } from '../../appliance/dns/dns.ts'
import { extractHeaderSummary } from '../../appliance/inbound/outline.ts'
import { AUTH_RESULTS } from '../../appliance/mail/inbound.ts'
import { verifyMessage, addTraceFields } from '../../appliance/verification/verification.ts'
import { createTestClock } from '../world/clock.ts'
import * as fc from '../world/fast-check.ts'

/**
 * Fuzzes the processing of received email before it is stored: any message must be verified, listed and marked in
 * bounded time.
 */

const RUNS = 300
/** Maximum CPU time in milliseconds. A regular expression with catastrophic backtracking takes seconds. */
const MOST_MS = 1000

const FIELDS = [
  'From: Ada <ada@x.example>',
  'From: "a, b" (c) <a@b>, <c@d>',
  'To: =?utf-8?B?w6Q=?= <b@c.example>',
  'Subject: =?utf-8?Q?=C3=A4?= x',
  'Message-ID: <1@x.example>',
  'References: <a@b> <c@d> <e@f>',
  'Authentication-Results: mail.acme.example; dmarc=pass',
  'Received: from a by b with SMTP; now',
  'DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=x.example; s=s1; h=from; bh=AA==; b=AA==',
  'ARC-Seal: i=1; a=rsa-sha256; cv=none; d=x.example; s=s1; b=AA==',
  'ARC-Message-Signature: i=1; a=rsa-sha256; d=x.example; s=s1; h=from; bh=AA==; b=AA==',
  'ARC-Authentication-Results: i=1; x; spf=pass',
  'Content-Type: multipart/mixed; boundary=m',
]
const TRICKS = [
  '"',
  '(',
  '<',
  '@',
  ',',
  '\\',
  ';',
  '=',
  ' ',
  '\t',
  '\r\n ',
  '\r\n',
  ':',
  '=?utf-8?B?',
  '\xff',
  '\0',
  'i=1;',
]

const text = fc.array(
  fc.oneof(
    fc.constantFrom(...TRICKS),
    fc.tuple(fc.constantFrom(...TRICKS), fc.nat(400)).map(([trick, many]) => trick.repeat(many)),
    fc.string({ maxLength: 30 }),
  ),
  { maxLength: 6 },
)
const field = fc.tuple(fc.constantFrom(...FIELDS), text).map(([whole, tail]) => whole + tail.join(''))
const message = fc
  .tuple(fc.array(field, { maxLength: 12 }), text)
  .map(([fields, body]) => Buffer.from(`${fields.join('\r\n')}\r\n\r\n${body.join('')}`, 'latin1'))

const resolver = {
  resolve: (name: string) =>
    Promise.resolve(
      name.length % 3 === 0
        ? { kind: 'failed', note: 'no answer' }
        : { kind: 'found', records: ['v=DKIM1; p=AA==; v=spf1 -all'], ttl: 1, authentic: false },
    ),
} as unknown as Pick<Resolver, 'resolve'>

test('verifies, outlines and evaluates any message in bounded time', { timeout: 3_600_000 }, async () => {
  const clock = createTestClock()
  await fc.assert(
    fc.asyncProperty(message, async (bytes) => {
      const before = process.cpuUsage()
      const about = { ip: '192.0.2.1', helo: 'mx.x.example', mailFrom: 'ada@x.example' }
      const authentication = await verifyMessage(
        { bytes, ...about },
        { resolver, clock, hostname: 'mail.acme.example' },
      )
      for (const { result } of Object.values(authentication)) expect(AUTH_RESULTS).toContain(result)
      const { from, to, subject, candidates } = extractHeaderSummary(bytes)
      expect([from, ...to, subject].join('')).not.toMatch(/[\r\n\0]/)
      expect(to.length + candidates.length).toBeLessThanOrEqual(120)
      const trace = {
        ...about,
        hostname: 'mail.acme.example',
        id: 'x',
        recipients: ['a@b.example'],
        now: 0,
        spam: { flagged: true, score: 1, rejectScore: 2, symbols: [about.helo] },
      }
      const marked = addTraceFields(bytes, { ...trace, tls: null, extended: true, authentication })
      const shown = marked.toString('latin1')
      const header = shown.slice(0, shown.indexOf('\r\n\r\n') + 2)
      expect(header.match(/^Authentication-Results: mail\.acme\.example\b/gim)).toHaveLength(1)
      const { user, system } = process.cpuUsage(before)
      expect((user + system) / 1000).toBeLessThan(MOST_MS)
    }),
    { numRuns: RUNS },
  )
})
