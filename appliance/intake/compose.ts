/**
 * Composes a message (RFC 5322, MIME) from a draft. The only file that imports nodemailer's composer and html-to-text.
 */
import type { MailComposerAttachment } from 'nodemailer/lib/mail-composer'
import { needsSmtpUtf8, type Mailbox } from '../mail/address.ts'
import { isSevenBit, convertToSevenBit } from '../mime/seven-bit.ts'
import type { StoredContent } from '../storage/storage.ts'
import { trackHtml } from '../tracking/rewrite.ts'
import { composePlain, encodeSubject, encodeValue, type Draft } from './compose-plain.ts'
import { placeComposedContent, placePlainContent } from './composed-content.ts'
import type { SubmittedAttachment } from './submission.ts'

export interface ComposedMessage {
  /** CRLF line ends, no line over 998 bytes; ASCII unless a local part is not (RFC 6532). */
  message: Uint8Array
  /** Where the message's HTML and text, as given or generated, are stored. */
  content: StoredContent
}

/**
 * Limit on start and end tags in HTML that is converted to text. The converter needs about 400 bytes for each; mail
 * programs display a few hundred kilobytes.
 */
const MAX_TAGS = 500_000
/** Completes the message of the refusal. */
export const TOO_MANY_TAGS = `at most ${MAX_TAGS} tags, or an additional \`text\``

/** Composes the message. A draft has no Bcc. Rejects with `TOO_MANY_TAGS`. */
export async function composeMessage(draft: Draft): Promise<ComposedMessage> {
  const text = draft.text ?? (draft.html === null ? null : await htmlToText(draft.html))
  const sent = htmlOf(draft)
  const [textPart, htmlPart] = [crlf(text ?? ''), crlf(sent)]
  const plain = composePlain(draft, textPart, htmlPart)
  const message = plain ?? (await composeMime(draft, textPart, htmlPart))
  const everyone = [draft.from, ...draft.to, ...draft.cc, ...draft.replyTo]
  assertSendable(message, everyone.some(needsSmtpUtf8))
  const content = { html: draft.html, text }
  return {
    message,
    content: plain ? placePlainContent(content, sent !== draft.html) : placeComposedContent(content, message),
  }
}

/** Returns the HTML with tracking. */
function htmlOf({ html, tracking }: Draft): string {
  if (html === null || html === '') return ''
  return tracking ? trackHtml(html, tracking) : html
}

/** Composes any draft, the general case. */
async function composeMime(draft: Draft, text: string, html: string): Promise<Uint8Array> {
  const spelling = new Map(draft.headers.map(({ name }) => [name.toLowerCase(), name]))
  const { default: MailComposer } = await import('nodemailer/lib/mail-composer')
  const composer = new MailComposer({
    from: person(draft.from),
    to: draft.to.map(person),
    cc: draft.cc.map(person),
    replyTo: draft.replyTo.map(person),
    subject: encodeSubject(draft.subject),
    messageId: draft.messageId,
    date: new Date(draft.date),
    headers: draft.headers.map(({ name, value }) => ({ key: name, value: encodeValue(value) })),
    text,
    html,
    attachments: await Promise.all(draft.attachments.map((one) => part(one, draft.html !== null))),
    normalizeHeaderKey: (key) => spelling.get(key.toLowerCase()) ?? key,
    newline: 'win',
    ...(draft.boundary !== undefined && { baseBoundary: draft.boundary }),
    // Without these, a stray `path` or `href` would read local files or the network.
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return composer.compile().build()
}

/**
 * Decides where an attachment goes: next to the HTML if the HTML can display it by its content id. Inline text is never
 * displayed by its id, and many readers would mistake it for part of the body.
 */
export function chooseDisposition(
  attachment: Pick<SubmittedAttachment, 'contentId' | 'contentType'>,
): 'inline' | 'attachment' {
  const shown = attachment.contentId !== null && !/^text\/(plain|html)\b/i.test(attachment.contentType)
  return shown ? 'inline' : 'attachment'
}

const person = ({ name, address }: Mailbox) => ({ name, address })

/**
 * Converts line ends to CRLF. A bare CR or LF isn't a line end (RFC 5321 §2.3.8), and servers that repair it would
 * break the signature.
 */
const crlf = (text: string) => text.replaceAll(/\r\n|\r|\n/g, '\r\n')

/** The converter, loaded by the first message that needs it. */
let textOf: ((html: string) => string) | undefined

/**
 * Converts HTML to text. Rejects with `TOO_MANY_TAGS`. The depth limit protects the stack from the converter's
 * recursion. Content nested deeper than any real layout is dropped.
 */
export async function htmlToText(html: string): Promise<string> {
  let tags = 0
  for (let at = html.indexOf('<'); at >= 0; at = html.indexOf('<', at + 1))
    if (++tags > MAX_TAGS) throw new Error(TOO_MANY_TAGS)
  textOf ??= (await import('html-to-text')).compile({
    wordwrap: false,
    limits: { maxDepth: 100, maxInputLength: 2 ** 28 },
    selectors: [
      { selector: 'a', options: { hideLinkHrefIfSameAsText: true } },
      { selector: 'img', format: 'skip' },
      // Don't convert headings to upper case, because that would change merge tags in them.
      ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({
        selector,
        options: { uppercase: false },
      })),
    ],
  })
  return textOf(html)
}

async function part(attachment: SubmittedAttachment, html: boolean): Promise<MailComposerAttachment> {
  const { content, contentId, contentType, filename } = attachment
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength)
  const common = {
    ...(filename === null ? {} : { filename }),
    ...(contentId === null ? {} : { cid: contentId }),
    contentDisposition: html ? chooseDisposition(attachment) : 'attachment',
  }
  if (!/^message\//i.test(contentType)) return { ...common, contentType, content: bytes }
  const inner = await sevenBitOf(contentType, Buffer.from(crlf(bytes.toString('latin1')), 'latin1'))
  if (inner) return { ...common, contentType, contentTransferEncoding: '7bit', content: inner }
  // Attached as a plain file, it stays unchanged.
  return { ...common, contentType: 'application/octet-stream', content: bytes }
}

/**
 * Re-encodes a message/* attachment as 7-bit. Such a type must not be encoded itself (RFC 2046 §5.2.1), but its parts
 * may be. Undefined if that is impossible.
 */
async function sevenBitOf(contentType: string, content: Buffer): Promise<Buffer | undefined> {
  if (!/^message\/rfc822(?:[ \t;]|$)/i.test(contentType)) return isSevenBit(content) ? content : undefined
  const converted = await convertToSevenBit(content)
  return converted.kind === 'converted' ? converted.message : undefined
}

/**
 * Checks the properties that all later code relies on (RFC 5322 §2.1.1, §2.3). A violation is a bug here, not the
 * caller's fault.
 */
function assertSendable(message: Uint8Array, utf8Header: boolean): void {
  const broken = brokenPromise(message, utf8Header)
  if (broken !== undefined)
    throw new Error(`The composed message has ${broken}. This is a bug. Nothing was accepted.`)
}

const [LF, CR] = [10, 13]

/**
 * Describes what is wrong with a message. Examines each byte once; creating a view of each line takes four times as
 * long.
 */
function brokenPromise(message: Uint8Array, utf8Header: boolean): string | undefined {
  // Start of the line, and whether bytes over 127 are allowed in it.
  let [start, raw] = [0, utf8Header]
  for (let i = 0; i < message.length; i++) {
    const octet = message[i]!
    if (octet > 127 && !raw) return 'raw 8-bit text'
    if (octet > CR) continue
    if (octet === 0) return 'a NUL'
    if (octet === CR && message[i + 1] !== LF) return 'a bare CR'
    if (octet !== LF) continue
    if (message[i - 1] !== CR) return 'a bare LF'
    if (i - 1 - start > 998) return 'a line over 998 octets'
    // The empty line ends the header.
    if (i - 1 === start) raw = false
    start = i + 1
  }
  return start === message.length ? undefined : 'an unfinished last line'
}
