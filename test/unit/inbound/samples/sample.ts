/** Samples of received mail, written from the formats' descriptions. All names are example domains (RFC 2606). */
import type { BounceCategory } from '../../../../appliance/mail/bounce.ts'
import type { ReturnedMailKind } from '../../../../appliance/mail/returned.ts'

export interface Sample {
  /** The software, provider or client that uses this format. */
  origin: string
  name: string
  message: string
  kind: ReturnedMailKind
  /** Expected recipients of a delivery report, in order. */
  recipients?: readonly string[]
  category?: BounceCategory
  invalid?: boolean
  /** Expected Message-ID of the returned message. */
  messageId?: string | null
}

/** A failure as servers report it. */
export interface Cause {
  name: string
  code: number
  status: string
  text: string
  category: BounceCategory
  invalid: boolean
}

const cause = (
  name: string,
  code: number,
  status: string,
  text: string,
  category: BounceCategory,
  invalid = false,
): Cause => ({ name, code, status, text, category, invalid })

export const CAUSES = {
  unknown: cause('unknown user', 550, '5.1.1', 'User unknown', 'recipient', true),
  noMailbox: cause('no mailbox', 550, '5.1.1', 'No such user here', 'recipient', true),
  full: cause('mailbox full', 552, '5.2.2', 'Mailbox full', 'mailbox-full'),
  large: cause('too large', 552, '5.3.4', 'Message size exceeds fixed limit', 'size'),
  spam: cause('spam', 554, '5.7.1', 'Message rejected as spam by content filter', 'content'),
  listed: cause(
    'blocklist',
    554,
    '5.7.1',
    'Service unavailable; client host blocked using zen.spamhaus.org',
    'reputation',
  ),
  loop: cause('loop', 554, '5.4.6', 'Too many hops', 'network'),
} as const satisfies Record<string, Cause>

export const CAUSE_LIST: readonly Cause[] = Object.values(CAUSES)

export const RETURN_PATH = 'bounce+0197a0000000000000000000000000aa@send.sender.example'
export const MESSAGE_ID = '<0197a-1@send.sender.example>'

/** The header of the returned message. */
export const ORIGINAL = [
  `Return-Path: <${RETURN_PATH}>`,
  'Received: from mail.sender.example (mail.sender.example [192.0.2.1]) by mx.recipient.example; Tue, 24 Nov 2026 10:00:00 +0000',
  `Message-ID: ${MESSAGE_ID}`,
  'From: Acme <news@sender.example>',
  'To: ada@recipient.example',
  'Subject: Your order',
  'X-Posthaste-Stream: broadcasts',
  'Feedback-ID: 1:2:broadcast:acme',
].join('\n')

/** Builds a message from header lines and a body, with CRLF line ends. */
export function mail(header: readonly string[], body: string): string {
  return [...header, '', body].join('\n').replaceAll(/\r?\n/g, '\r\n')
}

/** Builds a multipart entity: its Content-Type and its body. */
export function multipart(
  type: string,
  parts: readonly (readonly [header: string, body: string])[],
): [string, string] {
  const boundary = '=_part_1_boundary'
  const body = parts.map(([header, text]) => `--${boundary}\n${header}\n\n${text}\n`).join('')
  return [
    `Content-Type: ${type}; boundary="${boundary}"`,
    `This is a MIME message.\n\n${body}--${boundary}--\n`,
  ]
}
