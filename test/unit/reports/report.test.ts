import { isAscii } from 'node:buffer'
import PostalMime from 'postal-mime'
import { describe, expect, test } from 'vitest'
import { buildReportEmail } from '../../../appliance/reports/report.ts'
import {
  MAX_RETURNED_SIZE_REQUESTED,
  MAX_RETURNED_SIZE_DEFAULT,
} from '../../../appliance/reports/returned.ts'
import type { DueReport } from '../../../appliance/storage/storage.ts'
import { delivery, due, found, NOW, ORIGINAL, said } from './facts.ts'
import { readReport, type ReadReport } from './read.ts'

const ID = '019b76da-a803-708b-bebe-000000000001'

const email = (about: DueReport, original: Uint8Array | undefined = ORIGINAL) =>
  buildReportEmail({ id: ID, deliveryId: 'd', due: about, original, hostname: 'mail.example.org', now: NOW })
const read = (about: DueReport, original?: Uint8Array): ReadReport => {
  const report = readReport(email(about, original).message)
  expect(report.defects).toEqual([])
  return report
}
/** Returns the fields about the only recipient. */
const fields = (about: DueReport): Record<string, string> => read(about).status[1]!

describe('a delivery report email', () => {
  test('a report has a null return path, requests no reports, and is due at once', () => {
    expect(email(due())).toMatchObject({
      via: 'report',
      returnPath: '',
      reportTo: null,
      dsn: null,
      to: ['app@example.com'],
      deliveries: [{ id: 'd', recipient: 'app@example.com', dueAt: NOW, dsn: null }],
    })
  })

  test('two independent parsers parse a report as expected', async () => {
    const { message } = email(due())
    expect(read(due()).types).toEqual([
      'multipart/report',
      'text/plain',
      'message/delivery-status',
      'message/rfc822',
    ])
    const parsed = await new PostalMime().parse(message)
    expect(parsed.subject).toBe('Your message could not be delivered')
    expect(parsed.from).toEqual({ name: 'Mail Delivery System', address: 'mailer-daemon@example.com' })
    expect(parsed.attachments.map(({ mimeType }) => mimeType)).toEqual([
      'message/delivery-status',
      'message/rfc822',
    ])
  })

  test('a report has the header fields required by RFC 3464, 5322 and 3834', () => {
    expect(read(due()).header).toEqual({
      From: 'Mail Delivery System <mailer-daemon@example.com>',
      To: 'app@example.com',
      Subject: 'Your message could not be delivered',
      Date: 'Fri, 20 Nov 2026 09:05:07 +0000',
      'Message-ID': `<${ID}@example.com>`,
      'In-Reply-To': '<7@example.com>',
      References: '<7@example.com>',
      'Auto-Submitted': 'auto-replied',
      'MIME-Version': '1.0',
      'Content-Type': `multipart/report; report-type="delivery-status"; boundary="report-${ID}"`,
      'Content-Transfer-Encoding': '7bit',
    })
  })

  test.each(['no-brackets', '<a b@c>', '<a@b>\r\nBcc: x@y', '<é@b>', `<${'a'.repeat(300)}@b>`])(
    'a report has no In-Reply-To for an invalid Message-ID: %j',
    (messageId) => {
      const { header } = read(due({ messageId }))
      expect(header).not.toHaveProperty('In-Reply-To')
      expect(header).not.toHaveProperty('Bcc')
    },
  )

  test('a report has no third part if the message is no longer stored', () => {
    const { message } = buildReportEmail({
      id: ID,
      deliveryId: 'd',
      due: due(),
      original: undefined,
      hostname: 'mail.example.org',
      now: NOW,
    })
    expect(readReport(message).types).toEqual(['multipart/report', 'text/plain', 'message/delivery-status'])
  })

  test('a report to a non-ASCII address has the address in raw UTF-8', () => {
    expect(Buffer.from(email(due({ reportTo: 'äpp@example.com' })).message).toString()).toContain(
      'To: <äpp@example.com>\r\n',
    )
  })

  test('a report has only CRLF line endings, and no line over 998 octets', () => {
    const cause = said(`550 5.7.1 ${'x'.repeat(5000)}\r\nnext`, { note: 'n'.repeat(3000) })
    const text = Buffer.from(
      email(due({ subject: 's'.repeat(2000), deliveries: [delivery({ cause })] })).message,
    )
    expect(text.toString('latin1').replaceAll('\r\n', '')).not.toMatch(/[\r\n]/)
    for (const line of text.toString('latin1').split('\r\n')) expect(line.length).toBeLessThanOrEqual(998)
  })
})

describe('machine-readable report fields', () => {
  test('the report fields describe the message', () => {
    expect(read(due({ dsn: { ret: null, envid: 'QQ314159' } })).status[0]).toEqual({
      'Original-Envelope-Id': 'QQ314159',
      'Reporting-MTA': 'dns; mail.example.org',
      'X-Posthaste-Email-Id': '019b76da-a803-708b-bebe-c89fb19b6d3a',
      'Arrival-Date': 'Fri, 20 Nov 2026 08:05:07 +0000',
    })
  })

  test('the report fields describe a recipient that a server rejected', () => {
    expect(fields(due())).toEqual({
      'Final-Recipient': 'rfc822; ada@example.net',
      Action: 'failed',
      Status: '5.1.1',
      'Remote-MTA': 'dns; mx.example.net',
      'Diagnostic-Code': 'smtp; 550 5.1.1 No such user',
      'Last-Attempt-Date': 'Fri, 20 Nov 2026 09:05:06 +0000',
    })
  })

  test('the report fields of a delay include Will-Retry-Until', () => {
    const late = delivery({ state: 'waiting', expiresAt: NOW + 3_600_000, cause: said('451 4.3.2 Not now') })
    expect(fields(due({ kind: 'delayed', deliveries: [late] }))).toMatchObject({
      Action: 'delayed',
      Status: '4.3.2',
      'Will-Retry-Until': 'Fri, 20 Nov 2026 10:05:07 +0000',
    })
  })

  test('a report of a delay omits recipients that are no longer queued', () => {
    const waits = delivery({ state: 'waiting', recipient: 'b@example.net' })
    const gone = delivery({ state: 'delivered' })
    const { status } = read(due({ kind: 'delayed', deliveries: [gone, waits] }))
    expect(status.slice(1).map((group) => group['Final-Recipient'])).toEqual(['rfc822; b@example.net'])
  })

  test('omits Remote-MTA if no server replied, and includes our own diagnostic', () => {
    const cause = found('mx.example.net does not answer.')
    const group = fields(due({ deliveries: [delivery({ cause, state: 'failed' })] }))
    expect(group).not.toHaveProperty('Remote-MTA')
    expect(group['Diagnostic-Code']).toBe('x-posthaste; mx.example.net does not answer.')
  })

  test('omits Last-Attempt-Date for a recipient that was never attempted', () => {
    const never = delivery({
      state: 'suppressed',
      attempts: 0,
      cause: found('On the list.', { status: '5.7.1' }),
    })
    const group = fields(due({ deliveries: [never] }))
    expect(group).not.toHaveProperty('Last-Attempt-Date')
    expect(group.Status).toBe('5.7.1')
  })

  test.each([
    ['ada@example.net', 'rfc822; ada@example.net'],
    ['"a b"@example.net', 'rfc822; "a b"@example.net'],
    ['größe@example.net', 'utf-8; gr\\x{F6}\\x{DF}e@example.net'],
    ['a+é@example.net', 'utf-8; a\\x{2B}\\x{E9}@example.net'],
    ['😀@example.net', 'utf-8; \\x{1F600}@example.net'],
  ])('encodes the final recipient %s as %s', (recipient, field) => {
    expect(fields(due({ deliveries: [delivery({ recipient })] }))['Final-Recipient']).toBe(field)
  })

  test.each([
    ['rfc822;Bob@example.net', 'rfc822; Bob@example.net'],
    ['utf-8;b\\x{F6}b@example.net', 'utf-8; b\\x{F6}b@example.net'],
    ['utf-8;böb@example.net', 'utf-8; b\\x{F6}b@example.net'],
    ['rfc822;a\r\nAction: delivered', 'rfc822; a Action: delivered'],
    ['rfc822;b\u0085öb@example.net', 'rfc822; b??b@example.net'],
    ['Bob@example.net', undefined],
    ['rf c822;x', undefined],
  ])('encodes the original recipient %j as %s', (orcpt, field) => {
    const about = due({ deliveries: [delivery({ dsn: { notify: null, orcpt } })] })
    expect(fields(about)['Original-Recipient']).toBe(field)
    expect(fields(about).Action).toBe('failed')
  })

  test('a server reply or an envelope ID cannot inject report fields', () => {
    const cause = said('550-5.7.1 first\r\n550 Action: delivered')
    const about = due({
      dsn: { ret: null, envid: 'a\r\nReporting-MTA: dns; evil' },
      deliveries: [delivery({ cause })],
    })
    const { status } = read(about)
    expect(status).toHaveLength(2)
    expect(status[0]).toMatchObject({
      'Original-Envelope-Id': 'a Reporting-MTA: dns; evil',
      'Reporting-MTA': 'dns; mail.example.org',
    })
    expect(status[1]).toMatchObject({
      Action: 'failed',
      'Diagnostic-Code': 'smtp; 550 5.7.1 first Action: delivered',
    })
  })

  test('folds a long diagnostic at spaces, and truncates a longer one', () => {
    const cause = said(`550 5.7.1 ${'word '.repeat(400)}`)
    const text = Buffer.from(email(due({ deliveries: [delivery({ cause })] })).message).toString()
    const folded = /Diagnostic-Code:.*(?:\r\n .*)*/.exec(text)![0]
    for (const line of folded.split('\r\n')) expect(line.length).toBeLessThanOrEqual(76)
    expect(folded.length).toBeLessThan(1100)
  })
})

describe('the human-readable report', () => {
  test('the text explains what happened, to which message, with the server’s reply', () => {
    expect(read(due()).text).toBe(`This is the mail system at mail.example.org.

Your message could not be delivered to the recipients below. No further
attempts will be made.

Subject: Invoice 7
Accepted: Fri, 20 Nov 2026 08:05:07 +0000
Message-ID: <7@example.com>
Email: 019b76da-a803-708b-bebe-c89fb19b6d3a

<ada@example.net>
    mx.example.net refuses.
    mx.example.net [192.0.2.1] replied: 550 5.1.1 No such user
`)
  })

  test('the text about an expired delivery quotes the last attempt', () => {
    const expired = delivery({ state: 'expired', attempts: 21, cause: said('451 4.3.2 Not now') })
    expect(read(due({ deliveries: [expired] })).text).toContain(
      'Expired after 21 attempts. The last attempt:',
    )
  })

  test('the text keeps non-ASCII characters, and removes line breaks and control characters', () => {
    const { text, encodings } = read(due({ subject: 'Größe\r\nTo: evil\u001b[2J 7 €' }))
    expect(text).toContain('Subject: Größe To: evil [2J 7 €\n')
    expect(encodings[1]).toBe('quoted-printable')
  })
})

describe('the original message in a report', () => {
  const body = (size: number) =>
    Buffer.concat([
      ORIGINAL,
      Buffer.from(
        'x'
          .repeat(70)
          .concat('\r\n')
          .repeat(size / 72),
      ),
    ])
  const small = body(1000)
  const large = body(MAX_RETURNED_SIZE_DEFAULT + 1000)
  const huge = body(MAX_RETURNED_SIZE_REQUESTED + 1000)
  test.each<[string, DueReport['kind'], DueReport['dsn']['ret'], Buffer, string]>([
    ['a failure', 'failed', null, small, 'message/rfc822'],
    ['a failure with RET=FULL', 'failed', 'FULL', small, 'message/rfc822'],
    ['a failure with RET=HDRS', 'failed', 'HDRS', small, 'text/rfc822-headers'],
    ['a failure of a large message', 'failed', null, large, 'text/rfc822-headers'],
    ['a failure of a large message with RET=FULL', 'failed', 'FULL', large, 'message/rfc822'],
    ['a failure of a huge message with RET=FULL', 'failed', 'FULL', huge, 'text/rfc822-headers'],
    ['a delay, whatever RET says', 'delayed', 'FULL', small, 'text/rfc822-headers'],
    ['a success, whatever RET says', 'relayed', 'FULL', small, 'text/rfc822-headers'],
  ])('returns the original message as specified after %s', (_, kind, ret, original, type) => {
    const deliveries = [delivery({ state: kind === 'delayed' ? 'waiting' : 'bounced' })]
    const report = read(due({ kind, dsn: { ret, envid: null }, deliveries }), original)
    expect(report.types[3]).toBe(type)
    if (type === 'text/rfc822-headers')
      expect(report.returned).toBe('From: app@example.com\r\nSubject: Invoice 7\r\n')
  })

  test('returns only the header of a message that requires TLS, and the report requires TLS too (RFC 8689 §5)', () => {
    const secret = due({ dsn: { ret: 'FULL', envid: null }, requireTls: 'yes' })
    expect(read(secret, small).types[3]).toBe('text/rfc822-headers')
    expect(email(secret).requireTls).toBe('yes')
  })

  test.each([null, 'no'] as const)(
    'the report does not require TLS if the requirement of the message is %s',
    (requireTls) => {
      expect(email(due({ requireTls })).requireTls).toBeNull()
    },
  )

  test('returns an 8bit message as 8bit', () => {
    const original = Buffer.concat([ORIGINAL, Buffer.from('Größe\r\n')])
    const report = read(due(), original)
    expect(report.encodings).toEqual(['8bit', '7bit', '7bit', '8bit'])
    expect(Buffer.from(email(due(), original).message).includes(original)).toBe(true)
  })

  test('returns a message with a UTF-8 header with the types of RFC 6532 and 6533, in 7bit', () => {
    const original = Buffer.from('From: äpp@example.com\r\n\r\nPay \xff.\r\n')
    const whole = read(due(), original)
    expect(whole.types[3]).toBe('message/global')
    expect(whole.encodings).toEqual(['7bit', '7bit', '7bit', 'quoted-printable'])
    const header = read(due({ dsn: { ret: 'HDRS', envid: null } }), original)
    expect(header.types[3]).toBe('message/global-headers')
    expect(header.encodings[3]).toBe('quoted-printable')
    const { message } = email(due(), original)
    expect(isAscii(message)).toBe(true)
    expect(Buffer.from(message).includes('=46rom: =C3=A4pp@example.com\r\n\r\nPay =')).toBe(true)
  })

  test('truncates a returned header that is too long between two fields', () => {
    const original = Buffer.from(
      `A: 1\r\n b\r\n${'X-Filler: 12345\r\n 67890\r\n'.repeat(10_000)}\r\nbody\r\n`,
    )
    const { returned } = read(due({ dsn: { ret: 'HDRS', envid: null } }), original)
    expect(returned!.length).toBeLessThanOrEqual(64 * 1024)
    expect(returned!.endsWith('X-Filler: 12345\r\n 67890\r\n')).toBe(true)
  })
})
