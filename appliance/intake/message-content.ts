/** What a message that arrived as bytes holds, for showing it and for telling two apart. The bytes themselves are kept. */
import { isAscii } from 'node:buffer'
import { createHash } from 'node:crypto'
import PostalMime, { decodeWords } from 'postal-mime'
import { fieldValue } from '../mail/headers.ts'
import type { AttachmentInfo } from '../storage/storage.ts'
import type { Header } from './message-fields.ts'
import { CONTENT_FIELDS, readParts } from './message-parts.ts'

/** Subject, bodies and attachments, decoded. Plain data: it crosses threads. */
export interface MessageContent {
  subject: string
  html: string | null
  text: string | null
  attachments: (Omit<AttachmentInfo, 'id'> & {
    /** SHA-256 of the content, hex. */
    digest: string
  })[]
}

/** Types that say no more than what a message without any says. */
const PLAIN = /^text\/plain(?:;\s*charset="?(?:us-ascii|utf-8)"?)?$/i
const NOT_ENCODED = /^(?:7bit|8bit)$/i

/**
 * Reads a message that is nothing but ASCII text, as devices and scripts send it: for 2 KB 10 µs instead of the 500 of
 * `readContent`, with the same outcome. Undefined for every other message.
 */
export function readPlainContent(message: Uint8Array, header: Header): MessageContent | undefined {
  const { bodyOffset } = header
  const one = (name: string, allowed: RegExp): boolean => {
    const [value] = header.all(name)
    return value === undefined || allowed.test(value)
  }
  const [subject = ''] = header.all('subject')
  if (!/^[ -~]*$/.test(subject) || subject.includes('=?')) return undefined
  if (!one('content-type', PLAIN) || !one('content-transfer-encoding', NOT_ENCODED)) return undefined
  if (header.all('content-disposition').length > 0 || !isAscii(message)) return undefined
  const body = Buffer.from(message.buffer, message.byteOffset + bodyOffset, message.length - bodyOffset)
  if (body.length === 0) return undefined
  const text = body.toString('latin1').replaceAll('\r\n', '\n')
  return { subject, html: null, text: text.endsWith('\n') ? text : `${text}\n`, attachments: [] }
}

/** Most attachments that are listed. */
const MAX_LISTED = 100
/** Larger messages are read in a thread of their own. */
const MAX_DIRECT = 256 * 1024

const ASCII_LINES = /^[\t\r\n -~]*$/

/**
 * Reads a message with parts and encodings as mail programs and libraries write them, a tenth of the work of `readContent` with
 * the same outcome. Undefined for every other message.
 */
export function readUsualContent(message: Uint8Array, header: Header): MessageContent | undefined {
  const { bodyOffset } = header
  if (message.length > MAX_DIRECT || bodyOffset >= message.length) return undefined
  const fields = new Map<string, string>()
  for (const field of header.fields) {
    const name = field.name.toLowerCase()
    if (name !== 'subject' && !CONTENT_FIELDS.includes(name)) continue
    if (!ASCII_LINES.test(Buffer.from(field.raw).toString('latin1'))) return undefined
    fields.set(name, fieldValue(field))
  }
  const octets = Buffer.from(message.buffer, message.byteOffset + bodyOffset, message.length - bodyOffset)
  const body = octets.toString('latin1').replaceAll('\r\n', '\n')
  // The parser has its own mind about a bare CR; SMTP lets none in.
  const content = body.includes('\r') ? undefined : readParts(fields, body)
  return (
    content && {
      ...content,
      subject: decodeWords(fields.get('subject') ?? '').toWellFormed(),
      attachments: content.attachments.slice(0, MAX_LISTED),
    }
  )
}

/** Reads a message (MIME). Rejects for nesting that no mail program makes. */
export async function readContent(message: Uint8Array): Promise<MessageContent> {
  // The same choices as in mime/extract.ts, which finds attachments by their place in this list.
  const parsed = await PostalMime.parse(new Uint8Array(message), {
    forceRfc822Attachments: true,
    attachmentEncoding: 'arraybuffer',
  })
  return {
    subject: (parsed.subject ?? '').toWellFormed(),
    html: parsed.html?.replaceAll('\0', '') ?? null,
    text: parsed.text?.replaceAll('\0', '') ?? null,
    attachments: parsed.attachments.slice(0, MAX_LISTED).map((attachment) => {
      // With the encoding above it is no string.
      const content = new Uint8Array(attachment.content as ArrayBuffer)
      return {
        filename: attachment.filename?.slice(0, 255).toWellFormed() ?? null,
        contentType: attachment.mimeType,
        contentId: attachment.contentId?.replaceAll(/^<|>$/g, '') ?? null,
        disposition: attachment.contentId === undefined ? 'attachment' : 'inline',
        size: content.byteLength,
        digest: createHash('sha256').update(content).digest('hex'),
      }
    }),
  }
}
