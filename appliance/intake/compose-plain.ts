/**
 * Composes the messages that nearly all are: text, html or both, without attachments. It does what the general composer does
 * (compose.ts), in a tenth of its time (docs/decisions/0015), because the accept path spends most of its own on it. Pure.
 */
import { randomUUID } from 'node:crypto'
import { needsSmtpUtf8, type Mailbox } from '../mail/address.ts'
import { formatDateTime } from '../mail/date.ts'
import { foldField } from '../mail/headers.ts'
import { encodedWords } from '../mime/encode-header.ts'
import { encodeText } from '../mime/transfer.ts'
import type { TrackingPlan } from '../tracking/rewrite.ts'
import type { Submission } from './submission.ts'

/** All that a message is made from. Plain data, so that it can go to another thread. */
export interface Draft extends Pick<
  Submission,
  'from' | 'to' | 'cc' | 'replyTo' | 'subject' | 'html' | 'text' | 'headers' | 'attachments'
> {
  /** With its angle brackets. */
  messageId: string
  /** Unix milliseconds. */
  date: number
  /** How the html is tracked; null for not at all. The text that is made from it never is. */
  tracking?: TrackingPlan | null
  /** What parts are divided by, for a message that is to be the same each time it is composed. Default: a new one. */
  boundary?: string
}

/** Octets of base64 in an encoded word beside the longest name of ours (RFC 2047 §2: lines of 76). */
const ROOM = 52

/**
 * The message; undefined when it is not so plain: then the general composer makes it.
 * @param text the text part, empty for none; with CRLF line ends, as `html`
 */
export function composePlain(draft: Draft, text: string, html: string): Uint8Array | undefined {
  const { from, to, cc, replyTo, subject, headers, messageId, date } = draft
  if (draft.attachments.length > 0) return undefined
  const people = [from, ...to, ...cc, ...replyTo]
  // Of a name that looks like an encoded word readers think differently: the general composer has answered it.
  if (people.some((one) => one.name.includes('=?') || needsSmtpUtf8(one))) return undefined
  const fields = [
    ...headers.map(({ name, value }) => field(name, encodeValue(value))),
    field('From', mailboxes([from])),
    field('To', mailboxes(to)),
    ...(cc.length > 0 ? [field('Cc', mailboxes(cc))] : []),
    ...(replyTo.length > 0 ? [field('Reply-To', mailboxes(replyTo))] : []),
    field('Subject', encodeSubject(subject)),
    field('Message-ID', messageId),
    field('Date', formatDateTime(date)),
  ]
  return Buffer.from(fields.join('') + bodyOf(text, html, draft.boundary), 'latin1')
}

const field = (name: string, value: string): string => `${foldField(name, value)}\r\n`

function mailboxes(list: readonly Mailbox[]): string {
  return list.map(mailbox).join(', ')
}

/** RFC 5322 §3.4: the name as atoms, as a quoted string, or as encoded words. */
function mailbox({ name, address }: Mailbox): string {
  if (name === '') return address
  if (!isAscii(name)) return `${encoded(name)} <${address}>`
  const atoms = /^[\w!#$%&'*+\-/=?^`{|}~ ]+$/.test(name)
  return `${atoms ? name : `"${name.replaceAll(/["\\]/g, '\\$&')}"`} <${address}>`
}

/**
 * The value of a field that the caller named, in ASCII. Encoded words in it are the caller's own, unless it is beyond ASCII: then nobody has
 * encoded it. Long runs of white space become one: they could not be folded into lines of 998 octets.
 */
export function encodeValue(text: string): string {
  return isAscii(text) ? text.replaceAll(/[ \t]{20,}/g, ' ') : encoded(text)
}

/** A subject is text: what looks like an encoded word is shown as it stands. */
export function encodeSubject(text: string): string {
  return text.includes('=?') ? encoded(text) : encodeValue(text)
}

const isAscii = (text: string) => /^[\t -~]*$/.test(text)

/** A text as encoded words. White space between them is not shown (RFC 2047 §6.2). */
const encoded = (text: string): string => encodedWords(text, 'utf-8', ROOM).join(' ')

/** The MIME fields, the empty line and the body (RFC 2046 §5.1.4: the plainest alternative first). */
function bodyOf(text: string, html: string, given: string | undefined): string {
  if (html === '') return single('plain', text)
  if (text === '') return single('html', html)
  // "=_" cannot stand in a quoted-printable body (RFC 2045 §6.7), nor can anyone guess the rest.
  const boundary = given ?? `=_${randomUUID()}`
  return [
    `MIME-Version: 1.0\r\nContent-Type: multipart/alternative;\r\n boundary="${boundary}"\r\n`,
    part('plain', text),
    part('html', html),
    '',
  ]
    .join(`\r\n--${boundary}`)
    .concat('--\r\n')
}

function part(subtype: string, content: string): string {
  const { encoding, body } = encodeText(content)
  return `\r\nContent-Type: text/${subtype}; charset=utf-8\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n${body}`
}

function single(subtype: string, content: string): string {
  const { encoding, body } = encodeText(content)
  const end = body.endsWith('\r\n') ? '' : '\r\n'
  return `Content-Transfer-Encoding: ${encoding}\r\nMIME-Version: 1.0\r\nContent-Type: text/${subtype}; charset=utf-8\r\n\r\n${body}${end}`
}
