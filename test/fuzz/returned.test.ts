import { describe, expect, test } from 'vitest'
import { gunzipSync, gzipSync } from 'node:zlib'
import { parseDmarcReport } from '../../appliance/inbound/reading/dmarc.ts'
import { MAX_INLINE_SIZE, classifyReturnedMessage } from '../../appliance/inbound/reading/read-returned.ts'
import { parseTlsReport } from '../../appliance/inbound/reading/tls-report.ts'
import { RETURNED_MAIL_KINDS } from '../../appliance/mail/returned.ts'
import { shippedRules } from '../unit/inbound/rules.ts'
import { AUTO_REPLIES, CHALLENGES, NEAR_MISSES } from '../unit/inbound/samples/automatic.ts'
import { COMPLAINTS, LIKE_COMPLAINTS } from '../unit/inbound/samples/feedback.ts'
import { PLAIN, PLAIN_DELAYS } from '../unit/inbound/samples/plain.ts'
import { DMARC_REPORTS, dmarcXml, TLS_JSON, TLS_REPORTS, zip } from '../unit/inbound/samples/reports.ts'
import { NOT_FINAL, STRUCTURED } from '../unit/inbound/samples/structured.ts'
import * as fc from '../world/fast-check.ts'

const rules = shippedRules()
const MESSAGES = [
  STRUCTURED,
  PLAIN,
  NOT_FINAL,
  PLAIN_DELAYS,
  COMPLAINTS,
  LIKE_COMPLAINTS,
  AUTO_REPLIES,
  CHALLENGES,
  NEAR_MISSES,
  DMARC_REPORTS,
  TLS_REPORTS,
].flatMap((list): Buffer[] => list.map(({ message }) => Buffer.from(message)))

type Change = { kind: 'cut' | 'repeat' | 'flip' | 'insert'; at: number; length: number; bytes: Uint8Array }

const changes = fc.array(
  fc.record({
    kind: fc.constantFrom<Change['kind']>('cut', 'repeat', 'flip', 'insert'),
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    length: fc.nat(200),
    bytes: fc.oneof(
      fc.uint8Array({ maxLength: 20 }),
      fc
        .constantFrom(
          '\r\n',
          '\n',
          '\r',
          '--',
          ':',
          ';',
          '<',
          '>',
          '=',
          '=?utf-8?B?',
          '\r\n\r\n',
          'Final-Recipient: ',
          'Content-Type: multipart/report; boundary=x\r\n',
          '<![CDATA[',
          '&#0;',
        )
        .map((text) => Buffer.from(text)),
    ),
  }),
  { maxLength: 12 },
)

function mutate(message: Uint8Array, list: readonly Change[]): Buffer {
  return list.reduce((bytes, { kind, at: share, length, bytes: more }) => {
    const at = Math.floor(share * bytes.length)
    const [before, piece, after] = [
      bytes.subarray(0, at),
      bytes.subarray(at, at + length),
      bytes.subarray(at + length),
    ]
    if (kind === 'cut') return Buffer.concat([before, after])
    if (kind === 'repeat') return Buffer.concat([before, piece, piece, piece, after])
    if (kind === 'insert') return Buffer.concat([before, more, piece, after])
    return Buffer.concat([before, piece.map((byte) => byte ^ 1), after])
  }, Buffer.from(message))
}

/** Returns the CPU time of a call in milliseconds. */
function cost(run: () => void): number {
  const before = process.cpuUsage()
  run()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

/**
 * Far above what any parse takes, in milliseconds. A regular expression with catastrophic backtracking takes seconds.
 */
const MOST_MS = 1000

describe('returned mail', () => {
  test('reads mutated messages without errors and in bounded time, with valid results', () => {
    const message = fc.tuple(fc.constantFrom(...MESSAGES), changes).map(([one, list]) => mutate(one, list))
    fc.assert(
      fc.property(message, (bytes) => {
        const spent = cost(() => {
          const { kind, recipients, references, feedback } = classifyReturnedMessage(bytes, rules)
          expect(RETURNED_MAIL_KINDS).toContain(kind)
          expect(recipients.length).toBeLessThanOrEqual(500)
          expect(references.inReplyTo.length).toBeLessThanOrEqual(50)
          // Only a failed delivery or a feedback report is evidence against an address.
          if (kind !== 'bounce') expect(recipients.filter(({ invalid }) => invalid)).toEqual([])
          expect(feedback !== null).toBe(
            kind === 'complaint' || kind === 'not-spam' || kind === 'dmarc-failure',
          )
        })
        expect(spent).toBeLessThan(MOST_MS)
      }),
      { numRuns: 1000 },
    )
  })

  test('reads arbitrary bytes as returned mail', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2000 }), (bytes) =>
        RETURNED_MAIL_KINDS.includes(classifyReturnedMessage(bytes, rules).kind),
      ),
    )
  })

  test('reads text that is hard for regular expressions in bounded time', () => {
    const piece = fc.constantFrom(
      'a',
      '@',
      'a@',
      ' ',
      '\t',
      '\n',
      '-',
      '<',
      '>',
      '5.1.1 ',
      '550 ',
      '.',
      ':',
      '(',
      '&',
      '=',
      'the ',
      'mail ',
      'was ',
      'x'.repeat(100),
      '\r\n--b\r\n',
    )
    const start = fc.constantFrom(
      'From: MAILER-DAEMON@x\r\nSubject: failure\r\n\r\n',
      'Content-Type: text/html\r\n\r\n',
      'Content-Type: multipart/report; boundary=b\r\n\r\n--b\r\nContent-Type: message/delivery-status\r\n\r\nFinal-Recipient: ',
      'Subject: ',
      '',
    )
    fc.assert(
      fc.property(start, fc.array(piece, { minLength: 1, maxLength: 4 }), (header, pieces) => {
        const pattern = pieces.join('')
        const bytes = Buffer.from(header + pattern.repeat(Math.floor(MAX_INLINE_SIZE / pattern.length)))
        expect(cost(() => classifyReturnedMessage(bytes, rules))).toBeLessThan(MOST_MS)
      }),
      { numRuns: 100 },
    )
  })
})

describe('domain reports', () => {
  const xml = [dmarcXml('a'), dmarcXml('b').replaceAll('<', '<d:')].map((one) => Buffer.from(one))
  const json = [Buffer.from(JSON.stringify(TLS_JSON))]
  const packed = [gzipSync(xml[0]!), zip([{ name: 'a.xml', bytes: xml[0]! }]), gzipSync(json[0]!)]

  test.each([
    ['XML', xml, (bytes: Buffer) => bytes],
    ['JSON', json, (bytes: Buffer) => bytes],
    ['compressed reports', packed, (bytes: Buffer) => bytes],
    ['XML compressed after mutation', xml, (bytes: Buffer) => gzipSync(bytes)],
  ])('reads mutated reports in bounded time: %s', (_, originals, pack) => {
    const bytes = fc
      .tuple(fc.constantFrom(...originals), changes)
      .map(([one, list]) => pack(mutate(one, list)))
    fc.assert(
      fc.property(bytes, (one) => {
        const spent = cost(() => {
          expect(['report', 'problem']).toContain(parseDmarcReport(one).kind)
          expect(['report', 'problem']).toContain(parseTlsReport(one).kind)
        })
        expect(spent).toBeLessThan(MOST_MS)
      }),
      { numRuns: 300 },
    )
  })

  test('reads a compressed report like the uncompressed original', () => {
    expect(gunzipSync(packed[0]!)).toEqual(xml[0])
    expect(parseDmarcReport(packed[0]!)).toEqual(parseDmarcReport(xml[0]!))
    expect(parseDmarcReport(packed[1]!)).toEqual(parseDmarcReport(xml[0]!))
  })
})
