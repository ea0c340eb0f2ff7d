import { describe, expect, test } from 'vitest'
import { loadBounceRules, loadReturnedMailRules } from '../../../appliance/config/config.ts'
import { evaluateReturnedMail } from '../../../appliance/inbound/returned-verdict.ts'
import { classifyReturnedMessage } from '../../../appliance/inbound/reading/read-returned.ts'
import type { ReturnedDelivery } from '../../../appliance/storage/storage.ts'
import { shippedRules } from './rules.ts'
import { AUTO_REPLIES, CHALLENGES, NEAR_MISSES } from './samples/automatic.ts'
import { COMPLAINTS, LIKE_COMPLAINTS } from './samples/feedback.ts'
import { PLAIN, PLAIN_DELAYS } from './samples/plain.ts'
import { DMARC_REPORTS, TLS_REPORTS } from './samples/reports.ts'
import type { Sample } from './samples/sample.ts'
import { NOT_FINAL, STRUCTURED } from './samples/structured.ts'

const reading = shippedRules()
const rules = [...loadReturnedMailRules().reasons, ...loadBounceRules()]

const delivery = (recipient: string, more: Partial<ReturnedDelivery> = {}): ReturnedDelivery => ({
  id: recipient,
  recipient,
  state: 'delivered',
  leased: false,
  complained: false,
  ...more,
})

const judge = (message: string, deliveries: ReturnedDelivery[], toReturnPath = true) =>
  evaluateReturnedMail(
    classifyReturnedMessage(Buffer.from(message), reading),
    { deliveries, toReturnPath },
    rules,
  )

/** Returns a Postfix report about one recipient. */
const dsn = (recipient: string, status = '5.1.1', text = '550 5.1.1 User unknown') =>
  [
    'From: MAILER-DAEMON@mx.example (Mail Delivery System)',
    'Content-Type: multipart/report; report-type=delivery-status; boundary="b"',
    '',
    '--b',
    'Content-Type: text/plain',
    '',
    'Undeliverable.',
    '--b',
    'Content-Type: message/delivery-status',
    '',
    'Reporting-MTA: dns; mx.example',
    '',
    `Final-Recipient: rfc822; ${recipient}`,
    'Action: failed',
    `Status: ${status}`,
    `Diagnostic-Code: smtp; ${text}`,
    '--b--',
    '',
  ].join('\r\n')

describe('a bounce for the only recipient of an email', () => {
  test('a bounce for the only recipient bounces the delivery, and suppresses an invalid address', () => {
    const { report, bounces, complaints } = judge(dsn('Ada@X.example'), [delivery('ada@x.example')])
    expect(report).toMatchObject({ kind: 'bounce', reportingMta: 'mx.example' })
    expect(report.entries).toMatchObject([{ deliveryId: 'ada@x.example', effect: 'suppressed' }])
    expect(complaints).toEqual([])
    expect(bounces).toMatchObject([
      {
        deliveryId: 'ada@x.example',
        cause: {
          phase: 'report',
          category: 'recipient',
          reply: { code: 550, enhanced: '5.1.1', text: 'User unknown' },
        },
        data: {
          recipient: 'ada@x.example',
          bounce: { type: 'Permanent', diagnosticCode: ['smtp; 550 5.1.1 User unknown'], suppress: true },
        },
      },
    ])
  })

  test('a bounce for a full mailbox or a delivery timeout does not suppress the address', () => {
    for (const [status, text, type] of [
      ['5.2.2', '552 5.2.2 Mailbox full', 'Permanent'],
      ['4.4.1', '451 4.4.1 Connection timed out', 'Transient'],
    ] as const) {
      const { bounces } = judge(dsn('ada@x.example', status, text), [delivery('ada@x.example')])
      expect(bounces).toMatchObject([{ data: { bounce: { type } } }])
      expect(bounces[0]!.data.bounce).not.toHaveProperty('suppress')
    }
  })

  test('a bounce for another address has no effect', () => {
    const { report, bounces } = judge(dsn('eve@x.example'), [delivery('ada@x.example')])
    expect([report.entries[0]!.effect, bounces]).toEqual(['stranger', []])
  })

  test.each([
    { state: 'bounced' as const },
    { state: 'waiting' as const },
    { state: 'canceled' as const },
    { complained: true },
  ])('a bounce has no effect on a delivery with %j', (more) => {
    const { report, bounces } = judge(dsn('ada@x.example'), [delivery('ada@x.example', more)])
    expect([report.entries[0]!.effect, bounces]).toEqual(['unchanged', []])
  })

  test('a bounce that lists the recipient twice counts once', () => {
    const twice = dsn('ada@x.example').replace(
      '--b--',
      ['', 'Final-Recipient: rfc822; ada@x.example', 'Action: failed', 'Status: 5.1.1', '--b--'].join('\r\n'),
    )
    expect(judge(twice, [delivery('ada@x.example')]).bounces).toHaveLength(1)
  })
})

test('a bounce for one of several recipients does not suppress, as another recipient could forge it', () => {
  const two = [delivery('ada@x.example'), delivery('bob@x.example')]
  const { report, bounces } = judge(dsn('bob@x.example'), two)
  expect(report.entries).toMatchObject([{ deliveryId: 'bob@x.example', effect: 'bounced' }])
  expect(bounces[0]!.data.bounce).not.toHaveProperty('suppress')
})

test('a message not sent to the return path changes nothing, unless it is a complaint', () => {
  expect(judge(dsn('ada@x.example'), [delivery('ada@x.example')], false).bounces).toEqual([])
  expect(judge(COMPLAINTS[0]!.message, [delivery('ada@x.example')], false).complaints).toHaveLength(1)
})

test('an unreadable message changes nothing', () => {
  const judged = evaluateReturnedMail(
    null,
    { deliveries: [delivery('ada@x.example')], toReturnPath: true },
    rules,
  )
  expect(judged).toMatchObject({ report: { kind: 'unreadable', entries: [] }, bounces: [], complaints: [] })
})

describe('the sample messages', () => {
  /** Returns the changes that the samples cause for an email to the named recipient only. */
  const changes = (samples: readonly Pick<Sample, 'message' | 'recipients'>[]) =>
    samples.map(({ message, recipients = [] }) =>
      judge(message, [delivery(recipients[0] ?? 'ada@recipient.example')]),
    )

  test('automatic replies, challenges, delays, reports and complaint lookalikes cause no changes', () => {
    const harmless = [...AUTO_REPLIES, ...CHALLENGES, ...NEAR_MISSES, ...NOT_FINAL, ...PLAIN_DELAYS]
    const others = [...LIKE_COMPLAINTS, ...DMARC_REPORTS, ...TLS_REPORTS]
    for (const { report, bounces, complaints } of changes([...harmless, ...others]))
      expect([report.kind, bounces, complaints]).toEqual([report.kind, [], []])
  })

  test('every bounce sample causes a bounce, and suppresses only if the sample marks the address invalid', () => {
    for (const [at, { bounces }] of changes([...STRUCTURED, ...PLAIN]).entries()) {
      const sample = [...STRUCTURED, ...PLAIN][at]!
      expect([sample.name, bounces.length]).toEqual([sample.name, 1])
      if (sample.invalid === false) expect(bounces[0]!.data.bounce).not.toHaveProperty('suppress')
    }
  })

  test('every complaint counts, redacted or not, unless the email had several recipients', () => {
    for (const { complaints, bounces } of changes(COMPLAINTS))
      expect([complaints.length, bounces]).toEqual([1, []])
    const two = [delivery('ada@recipient.example'), delivery('bob@recipient.example')]
    for (const { message } of COMPLAINTS) expect(judge(message, two).complaints).toEqual([])
  })
})
