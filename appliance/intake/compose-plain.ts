/**
 * Composes simple messages: text, HTML or both, without attachments. Nearly all messages are like that. Has the same
 * result as the general composer (compose.ts) in a tenth of its time (docs/decisions/0015), because the accept path
 * spends most of its time on it. Pure.
 */
import { randomUUID } from 'node:crypto'
import { needsSmtpUtf8, type Mailbox } from '../mail/address.ts'
import { formatDateTime } from '../mail/date.ts'
import { foldField } from '../mail/headers.ts'
import { toEncodedWords } from '../mime/encode-header.ts'
import { encodeText } from '../mime/transfer.ts'
import type { TrackingPlan } from '../tracking/rewrite.ts'
import type { Submission } from './submission.ts'

/** The parts of a message. Plain data, so that it can be sent to another thread. */
export interface Draft extends Pick<
  Submission,
  'from' | 'to' | 'cc' | 'replyTo' | 'subject' | 'html' | 'text' | 'headers' | 'attachments'
> {
  /** The Message-ID with angle brackets. */
  messageId: string
  /** Unix milliseconds. */
  date: number
  /** How the HTML is tracked; null for no tracking. Text made from it is never tracked. */
  tracking?: TrackingPlan | null
  /** The MIME boundary, for a message that must be identical each time it is composed. Default: a new one. */
  boundary?: string
}

/** Bytes of base64 in an encoded word next to our longest field name (RFC 2047 §2: lines of 76). */
const ROOM = 52

/**
 * Composes a message; undefined if it isn't simple enough and needs the general composer.
 * @param text the text part, empty for none; with CRLF line ends, as `html`
 */
export function composePlain(draft: Draft, text: string, html: string): Uint8Array | undefined {
  const { from, to, cc, replyTo, subject, headers, messageId, date } = draft
  if (draft.attachments.length > 0) return undefined
  const people = [from, ...to, ...cc, ...replyTo]
  // Mail clients interpret names that look like encoded words differently. The general composer handles those.
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

/** Formats a mailbox (RFC 5322 §3.4), with the name as atoms, a quoted string or encoded words. */
function mailbox({ name, address }: Mailbox): string {
  if (name === '') return address
  if (!isAscii(name)) return `${encoded(name)} <${address}>`
  const atoms = /^[\w!#$%&'*+\-/=?^`{|}~ ]+$/.test(name)
  return `${atoms ? name : `"${name.replaceAll(/["\\]/g, '\\$&')}"`} <${address}>`
}

/**
 * Formats the value of a custom field in ASCII. Keeps the caller's encoded words, unless the value is not ASCII and so
 * was never encoded. Collapses long runs of whitespace, which couldn't be folded into lines of 998 bytes.
 */
export function encodeValue(text: string): string {
  return isAscii(text) ? text.replaceAll(/[ \t]{20,}/g, ' ') : encoded(text)
}

/** Encodes a subject. It is text: what looks like an encoded word is displayed as it is. */
export function encodeSubject(text: string): string {
  return text.includes('=?') ? encoded(text) : encodeValue(text)
}

const isAscii = (text: string) => /^[\t -~]*$/.test(text)

/** Formats a text as encoded words. Whitespace between them isn't displayed (RFC 2047 §6.2). */
const encoded = (text: string): string => toEncodedWords(text, 'utf-8', ROOM).join(' ')

/** Formats the MIME fields, the empty line and the body (RFC 2046 §5.1.4: the plainest alternative first). */
function bodyOf(text: string, html: string, given: string | undefined): string {
  if (html === '') return single('plain', text)
  if (text === '') return single('html', html)
  // "=_" can't occur in a quoted-printable body (RFC 2045 §6.7), and the rest can't be guessed.
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
