/** Feedback reports (RFC 5965) as feedback loops send them, and mail that only looks like one. */
import { mail, MESSAGE_ID, multipart, ORIGINAL, type Sample } from './sample.ts'

interface Loop {
  origin: string
  from: string
  fields: readonly string[]
  /** Media type of the returned message. */
  returned?: string
  reportFirst?: boolean
}

const LOOPS: readonly Loop[] = [
  {
    origin: 'yahoo',
    from: 'Yahoo! Mail AntiSpam Feedback <feedback@arf.yahoo.example>',
    fields: [
      'User-Agent: Yahoo!-Mail-Feedback/2.0',
      'Version: 0.1',
      'Original-Mail-From: <bounce+x@send.sender.example>',
      'Original-Rcpt-To: <redacted>',
      'Received-Date: Tue, 24 Nov 2026 10:00:00 PST',
      'Reported-Domain: sender.example',
      'Authentication-Results: mta.yahoo.example; dkim=pass',
    ],
  },
  {
    origin: 'comcast',
    from: 'Comcast Feedback Loop <feedbackloop@fbl.comcast.example>',
    fields: [
      'User-Agent: ReturnPathFBL/1.0',
      'Version: 1',
      'Original-Rcpt-To: 5d41402abc4b2a76b9719d911017c592@comcast.example',
      'Source-IP: 192.0.2.1',
      'Incidents: 1',
    ],
  },
  {
    origin: 'aol',
    from: 'scomp@aol.example',
    fields: [
      'User-Agent: AOL SComp',
      'Version: 0.1',
      'Received-Date: Tue, 24 Nov 2026 10:00:00 -0500',
      'Source-IP: 192.0.2.1',
      'Redacted-Address: redacted',
    ],
  },
  {
    origin: 'fastmail',
    from: 'fbl@fastmail.example',
    fields: ['User-Agent: FastMail/1.0', 'Version: 1', 'Original-Rcpt-To: ada@recipient.example'],
  },
  {
    origin: 'mail-ru',
    from: 'fbl@corp.mail.example',
    fields: [
      'User-Agent: Mail.Ru/1.0',
      'Version: 1',
      'Original-Rcpt-To: ada@recipient.example',
      'Original-Mail-From: bounce+x@send.sender.example',
    ],
    returned: 'text/rfc822-headers',
  },
  {
    origin: 'validity',
    from: 'feedback@universal-fbl.example',
    fields: [
      'User-Agent: Validity-FBL/1.0',
      'Version: 1',
      'Reported-Domain: sender.example',
      'Reported-URI: http://sender.example/',
      'Original-Envelope-Id: E1',
    ],
    returned: 'message/rfc822',
  },
  {
    origin: 'amazon',
    from: 'complaints@email-abuse.amazonses.example',
    fields: [
      'User-Agent: Amazon SES Mailbox Simulator',
      'Version: 0.1',
      'Original-Mail-From: <a@sender.example>',
      'Removal-Recipient: ada@recipient.example',
    ],
  },
  {
    origin: 'redacted',
    from: 'fbl@redacting.example',
    fields: [
      'User-Agent: Redactor/1.0',
      'Version: 1',
      'Original-Rcpt-To: xxxxxxxx@recipient.example',
      'Original-Rcpt-To: yyyyyyyy@recipient.example',
    ],
    reportFirst: true,
  },
]

const TYPES = ['abuse', 'fraud', 'opt-out', 'virus'] as const

function report(loop: Loop, type: string, extra: readonly string[] = []): string {
  const fields = [`Feedback-Type: ${type}`, ...loop.fields, ...extra].join('\n')
  const text = [
    'Content-Type: text/plain; charset=us-ascii',
    'This is an email abuse report for an email message.',
  ] as const
  const machine = ['Content-Type: message/feedback-report', `${fields}\n`] as const
  const [header, body] = multipart('multipart/report; report-type=feedback-report', [
    ...(loop.reportFirst ? [machine, text] : [text, machine]),
    [`Content-Type: ${loop.returned ?? 'message/rfc822'}`, `${ORIGINAL}\n\nHello\n`],
  ])
  return mail(
    [
      `From: ${loop.from}`,
      'To: fbl@mail.sender.example',
      'Subject: FW: Your order',
      'MIME-Version: 1.0',
      header,
    ],
    body,
  )
}

const jmrp = (returned: boolean): string => {
  const [header, body] = multipart('multipart/mixed', [
    [
      'Content-Type: message/rfc822',
      `${returned ? 'X-HmXmrOriginalRecipient: ada@hotmail.example\n' : ''}${ORIGINAL}\n\nHello\n`,
    ],
  ])
  const own = returned ? [] : ['X-HmXmrOriginalRecipient: ada@hotmail.example']
  return mail(
    ['From: staff@hotmail.com', 'Subject: complaint about message from 192.0.2.1', ...own, header],
    body,
  )
}

export const COMPLAINTS: readonly Sample[] = [
  ...LOOPS.flatMap((loop) =>
    TYPES.map((type): Sample => ({
      origin: loop.origin,
      name: type,
      message: report(loop, type),
      kind: 'complaint',
      messageId: MESSAGE_ID,
    })),
  ),
  {
    origin: 'jmrp',
    name: 'field in the report',
    message: jmrp(false),
    kind: 'complaint',
    messageId: MESSAGE_ID,
  },
  {
    origin: 'jmrp',
    name: 'field in the message',
    message: jmrp(true),
    kind: 'complaint',
    messageId: MESSAGE_ID,
  },
]

const [yahoo] = LOOPS
const quoted = ['Feedback-Type: abuse', 'User-Agent: SomeGenerator/1.0', 'Version: 1'].join('\n')
const attached = multipart('multipart/mixed', [
  ['Content-Type: text/plain', 'Please have a look at this report.'],
  ['Content-Type: message/rfc822', report(yahoo!, 'abuse').replaceAll('=_part_1_boundary', 'inner')],
])
const empty = multipart('multipart/report; report-type=feedback-report', [
  ['Content-Type: text/plain', 'An abuse report without its machine part'],
  ['Content-Type: message/rfc822', ORIGINAL],
])
const untyped = multipart('multipart/report; report-type=feedback-report', [
  ['Content-Type: text/plain', 'Report'],
  ['Content-Type: message/feedback-report', 'User-Agent: X/1\nVersion: 1\n'],
])

/** Not complaints. */
export const LIKE_COMPLAINTS: readonly Sample[] = [
  { origin: 'yahoo', name: 'not-spam', message: report(yahoo!, 'not-spam'), kind: 'not-spam' },
  {
    origin: 'dmarc',
    name: 'auth-failure',
    message: report(yahoo!, 'auth-failure', [
      'Auth-Failure: dmarc',
      'DKIM-Domain: sender.example',
      'Delivery-Result: reject',
    ]),
    kind: 'dmarc-failure',
  },
  {
    origin: 'person',
    name: 'quotes a report',
    message: mail(
      ['From: bob@recipient.example', 'Subject: abuse report', 'Content-Type: text/plain'],
      quoted,
    ),
    kind: 'other',
  },
  {
    origin: 'person',
    name: 'forwards a report',
    message: mail(['From: bob@recipient.example', 'Subject: Fwd: report', attached[0]], attached[1]),
    kind: 'other',
  },
  {
    origin: 'person',
    name: 'answers',
    message: mail(
      [
        'From: bob@recipient.example',
        'Subject: Re: complaint about message from 192.0.2.1',
        'In-Reply-To: <a@b.example>',
      ],
      'This is spam, I will complain!',
    ),
    kind: 'reply',
  },
  {
    origin: 'broken',
    name: 'no machine part',
    message: mail(['From: fbl@x.example', 'Subject: report', empty[0]], empty[1]),
    kind: 'other',
  },
  {
    origin: 'broken',
    name: 'no type',
    message: mail(['From: fbl@x.example', 'Subject: report', untyped[0]], untyped[1]),
    kind: 'other',
  },
]
