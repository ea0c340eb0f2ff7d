/**
 * Splits a received message into its parts (RFC 2045, RFC 2046). Tolerant, with limits, and only as far as reports need
 * it. Pure.
 */
import { getUnfoldedValue, splitMessage, type HeaderField } from '../../mail/headers.ts'
import {
  createSearchBudget,
  type SearchBudget,
  splitMultipart,
  parseContentType,
  getFieldValues,
  type ContentType,
} from '../../mime/entity.ts'
import { decodeWords } from '../../mime/parser.ts'

/** A part without subparts. Enclosed messages aren't split either, because their content isn't the sender's own. */
export interface Part {
  /** `type/subtype` in lower case. */
  type: string
  parameters: ReadonlyMap<string, string>
  fields: readonly HeaderField[]
  /** The encoded body. */
  body: Buffer
}

export interface ParsedMessage {
  fields: readonly HeaderField[]
  contentType: ContentType
  /** Leaves in order. */
  parts: readonly Part[]
}

/** Genuine reports have three parts within one or two levels (RFC 6522 §3). */
const MAX_DEPTH = 10
const MAX_PARTS = 100
/** Maximum number of fields that are read. Reports need no more. */
const MAX_FIELDS = 400
/** Maximum number of octets of one field, and of the body of a part, that are read as text. */
const MAX_FIELD = 8 * 1024
const MAX_TEXT = 64 * 1024

/** Parses a message. Bare CR and LF count as line ends: RFC 5321 §2.3.8 forbids them, but old systems send them. */
export function parseMessage(message: Uint8Array): ParsedMessage {
  const bytes = withoutEnvelopeLine(withCrlf(message))
  const parts: Part[] = []
  const { fields, contentType } = readEntity(
    bytes,
    0,
    { parts, budget: createSearchBudget(bytes.length) },
    'text/plain',
  )
  return { fields, contentType, parts }
}

function readEntity(
  bytes: Buffer,
  depth: number,
  into: { parts: Part[]; budget: SearchBudget },
  otherwise: string,
): Pick<ParsedMessage, 'fields' | 'contentType'> {
  const { parts: found, budget } = into
  const { fields, bodyOffset } = splitMessage(bytes, MAX_FIELDS)
  const read = parseContentType(getField(fields, 'content-type') ?? otherwise)
  const contentType = read.type === '' ? parseContentType(otherwise) : read
  const { type, parameters } = contentType
  const boundary = parameters.get('boundary') ?? ''
  if (type.startsWith('multipart/') && boundary !== '' && depth < MAX_DEPTH) {
    const { parts, unclosed } = splitMultipart(bytes, [bodyOffset, bytes.length], boundary, {
      most: MAX_PARTS,
      budget,
    })
    // RFC 2046 §5.1.5: parts of a digest are messages by default.
    const inner = type === 'multipart/digest' ? 'message/rfc822' : 'text/plain'
    for (const [start, end] of unclosed ? [...parts, unclosed] : parts)
      if (found.length < MAX_PARTS) readEntity(bytes.subarray(start, end), depth + 1, into, inner)
  } else if (found.length < MAX_PARTS)
    found.push({ type, parameters, fields, body: bytes.subarray(bodyOffset) })
  return { fields, contentType }
}

/** Normalizes line ends to CRLF. Returns the same octets if nothing changes. */
function withCrlf(message: Uint8Array): Buffer {
  const bytes = Buffer.from(message.buffer, message.byteOffset, message.byteLength)
  if (!hasBareEnds(bytes)) return bytes
  const out = Buffer.allocUnsafe(bytes.length * 2)
  let at = 0
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]!
    if (byte !== CR && byte !== LF) out[at++] = byte
    else {
      if (byte === CR && bytes[i + 1] === LF) i++
      out[at++] = CR
      out[at++] = LF
    }
  }
  return out.subarray(0, at)
}

const CR = 13
const LF = 10

function hasBareEnds(bytes: Buffer): boolean {
  for (let at = bytes.indexOf(LF); at >= 0; at = bytes.indexOf(LF, at + 1))
    if (bytes[at - 1] !== CR) return true
  for (let at = bytes.indexOf(CR); at >= 0; at = bytes.indexOf(CR, at + 1))
    if (bytes[at + 1] !== LF) return true
  return false
}

/** Removes the mbox separator line that mailboxes and some gateways put in front (RFC 4155). */
function withoutEnvelopeLine(bytes: Buffer): Buffer {
  if (!/^>?From /.test(bytes.toString('latin1', 0, 6))) return bytes
  const end = bytes.indexOf('\r\n')
  return end < 0 ? bytes : bytes.subarray(end + 2)
}

/** Returns the first field with that name (in lower case), unfolded but not decoded. */
export function getField(fields: readonly HeaderField[], name: string): string | undefined {
  const field = fields.find((one) => one.name.toLowerCase() === name)
  return field && getUnfoldedValue({ name: field.name, raw: field.raw.subarray(0, MAX_FIELD) })
}

/** Returns all fields with that name as one text, with encoded words decoded (RFC 2047). */
export function getDecodedField(fields: readonly HeaderField[], name: string): string | undefined {
  const values = getFieldValues(
    fields.filter((one) => one.raw.length <= MAX_FIELD).slice(0, MAX_FIELDS),
    name,
  )
  if (values.length === 0) return undefined
  const text = values.slice(0, 20).join(', ').slice(0, MAX_FIELD)
  return text.includes('=?') ? decodeWords(text.slice(0, 2000)) : text
}

/** Returns the decoded text of a part, with LF line ends. */
export function decodeText(part: Part): string {
  const bytes = decodeBytes(part, MAX_TEXT)
  return decodeCharset(bytes, part.parameters.get('charset') ?? '').replaceAll('\r\n', '\n')
}

/**
 * Returns the decoded body of a part (RFC 2045 §6).
 *
 * @param most octets of the encoded body to read
 */
export function decodeBytes(part: Part, most = Infinity): Buffer {
  const encoding = (getField(part.fields, 'content-transfer-encoding') ?? '').toLowerCase()
  const body = part.body.subarray(0, Math.min(part.body.length, most))
  if (encoding.startsWith('base64')) return Buffer.from(body.toString('latin1'), 'base64')
  return encoding.startsWith('quoted-printable') ? decodeQuotedPrintable(body) : body
}

/** Decodes quoted-printable (RFC 2045 §6.7). Invalid escapes stay as they are. */
function decodeQuotedPrintable(body: Buffer): Buffer {
  const text = body.toString('latin1').replaceAll(/=[ \t]{0,80}\r\n/g, '')
  const decoded = text.replaceAll(/=([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(parseInt(hex, 16)),
  )
  return Buffer.from(decoded, 'latin1')
}

/** Decodes text in the given charset; else as UTF-8 if valid; else as Windows-1252, which can decode any octets. */
export function decodeCharset(bytes: Uint8Array, charset: string): string {
  for (const label of [charset, 'utf-8']) {
    if (label === '') continue
    try {
      const fatal = label === 'utf-8'
      return new TextDecoder(label, { fatal }).decode(bytes)
    } catch {
      // Node doesn't know the charset, or it isn't UTF-8: try the next one.
    }
  }
  return new TextDecoder('windows-1252').decode(bytes)
}
