/** Composes a message (RFC 5322, MIME) from what was understood. The only file that knows nodemailer's composer and html-to-text. */
import { compile } from 'html-to-text'
import MailComposer, { type MailComposerAttachment } from 'nodemailer/lib/mail-composer'
import { needsSmtpUtf8, type Mailbox } from '../mail/address.ts'
import { isSevenBit, toSevenBit } from '../mime/seven-bit.ts'
import type { StoredContent } from '../storage/storage.ts'
import { trackHtml } from '../tracking/rewrite.ts'
import { composePlain, encodeSubject, encodeValue, type Draft } from './compose-plain.ts'
import { placeByReading, placePlain } from './composed-content.ts'
import type { SubmittedAttachment } from './submission.ts'

export interface Composed {
  /** CRLF line ends, no line over 998 octets; ASCII unless a local part is not (RFC 6532). */
  message: Uint8Array
  /** Where its html and its text, as given or as made from the html, are kept. */
  content: StoredContent
}

/**
 * Tags of html of which text is made, begun or ended. The converter keeps some 400 octets for each; mail programs show a few hundred
 * kilobytes.
 */
const MAX_TAGS = 500_000
/** What is expected instead, as a clause for the refusal. */
export const TOO_MANY_TAGS = `at most ${MAX_TAGS} tags, or an additional \`text\``

/** Makes the message. Does not know about Bcc: it never comes here. Rejects with `TOO_MANY_TAGS`. */
export async function compose(draft: Draft): Promise<Composed> {
  const text = draft.text ?? (draft.html === null ? null : textFrom(draft.html))
  const sent = htmlOf(draft)
  const [textPart, htmlPart] = [crlf(text ?? ''), crlf(sent)]
  const plain = composePlain(draft, textPart, htmlPart)
  const message = plain ?? (await composeMime(draft, textPart, htmlPart))
  const everyone = [draft.from, ...draft.to, ...draft.cc, ...draft.replyTo]
  assertSendable(message, everyone.some(needsSmtpUtf8))
  const content = { html: draft.html, text }
  return {
    message,
    content: plain ? placePlain(content, sent !== draft.html) : placeByReading(content, message),
  }
}

/** The html as it goes out. */
function htmlOf({ html, tracking }: Draft): string {
  if (html === null || html === '') return ''
  return tracking ? trackHtml(html, tracking) : html
}

/** The general way, for any draft. */
async function composeMime(draft: Draft, text: string, html: string): Promise<Uint8Array> {
  const spelling = new Map(draft.headers.map(({ name }) => [name.toLowerCase(), name]))
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
    // Without these a `path` or `href` that slips through reads our files and our network.
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return composer.compile().build()
}

/**
 * Where an attachment goes: beside the html when the html can show it by its content id. Inline text is never shown by
 * its id, and many readers would take it for a part of the body.
 */
export function dispositionOf(
  attachment: Pick<SubmittedAttachment, 'contentId' | 'contentType'>,
): 'inline' | 'attachment' {
  const shown = attachment.contentId !== null && !/^text\/(plain|html)\b/i.test(attachment.contentType)
  return shown ? 'inline' : 'attachment'
}

const person = ({ name, address }: Mailbox) => ({ name, address })

/** A bare CR or LF is no line end (RFC 5321 §2.3.8), and a signature must not depend on who repairs it. */
const crlf = (text: string) => text.replaceAll(/\r\n|\r|\n/g, '\r\n')

/** The text version of an html. Throws `TOO_MANY_TAGS`. */
export function textFrom(html: string): string {
  let tags = 0
  for (let at = html.indexOf('<'); at >= 0; at = html.indexOf('<', at + 1))
    if (++tags > MAX_TAGS) throw new Error(TOO_MANY_TAGS)
  return textOf(html)
}

/**
 * The text version of an html. The depth limit keeps the converter's recursion far from the end of the stack; what lies
 * deeper than any real layout is left out.
 */
const textOf = compile({
  wordwrap: false,
  limits: { maxDepth: 100, maxInputLength: 2 ** 28 },
  selectors: [
    { selector: 'a', options: { hideLinkHrefIfSameAsText: true } },
    { selector: 'img', format: 'skip' },
  ],
})

async function part(attachment: SubmittedAttachment, html: boolean): Promise<MailComposerAttachment> {
  const { content, contentId, contentType, filename } = attachment
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength)
  const common = {
    ...(filename === null ? {} : { filename }),
    ...(contentId === null ? {} : { cid: contentId }),
    contentDisposition: html ? dispositionOf(attachment) : 'attachment',
  }
  if (!/^message\//i.test(contentType)) return { ...common, contentType, content: bytes }
  const inner = await sevenBitOf(contentType, Buffer.from(crlf(bytes.toString('latin1')), 'latin1'))
  if (inner) return { ...common, contentType, contentTransferEncoding: '7bit', content: inner }
  // As a plain file it stays what it is.
  return { ...common, contentType: 'application/octet-stream', content: bytes }
}

/** What is of a message/* type must not be encoded (RFC 2046 §5.2.1), but what a message holds may be. Undefined where that cannot be done. */
async function sevenBitOf(contentType: string, content: Buffer): Promise<Buffer | undefined> {
  if (!/^message\/rfc822(?:[ \t;]|$)/i.test(contentType)) return isSevenBit(content) ? content : undefined
  const converted = await toSevenBit(content)
  return converted.kind === 'converted' ? converted.message : undefined
}

/** The promise to everyone after us (RFC 5322 §2.1.1, §2.3). Breaking it is our fault, not the caller's. */
function assertSendable(message: Uint8Array, utf8Header: boolean): void {
  const broken = brokenPromise(message, utf8Header)
  if (broken !== undefined)
    throw new Error(`The composed message has ${broken}. This is a bug. Nothing was accepted.`)
}

const [LF, CR] = [10, 13]

/** What is wrong with a message. One look at each octet: with a view of each line it took four times as long. */
function brokenPromise(message: Uint8Array, utf8Header: boolean): string | undefined {
  // Where the line begins; and whether octets over 127 may be in it.
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
