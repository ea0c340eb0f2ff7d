/**
 * Converts messages for servers without 8BITMIME (RFC 6152 §3): encodes every part that isn't 7-bit, including those of
 * embedded messages. The decoded content stays identical, octet for octet.
 */
import { isAscii } from 'node:buffer'
import { endsWithBlankLine, splitMessage, type HeaderField } from '../mail/headers.ts'
import { encodeField } from './encode-header.ts'
import {
  isSignedOrEncrypted,
  createSearchBudget,
  type SearchBudget,
  splitMultipart,
  parseContentType,
  getFieldValues,
  type ContentType,
} from './entity.ts'
import { encodeMimeBase64, decodeQuotedPrintable, prefersBase64, encodeQuotedPrintable } from './transfer.ts'

/** The converted message, or a clause that says why it can't be converted. */
export type ConversionResult = { kind: 'converted'; message: Buffer } | { kind: 'impossible'; why: string }

/** Maximum nesting and number of parts; real messages have a tenth of that. */
const MAX_DEPTH = 20
const MAX_PARTS = 1000
/** Longest line without its CRLF (RFC 5322 §2.1.1). */
const MAX_LINE = 998
/**
 * Number of octets to encode before yielding to the event loop, a multiple of a base64 line. Encoding them takes a few
 * milliseconds.
 */
const TURN = 57 * 8192

class Impossible extends Error {}

/** Converts a message with CRLF line ends. Returns the same buffer when it is already 7-bit. */
export async function convertToSevenBit(message: Buffer): Promise<ConversionResult> {
  if (isSevenBit(message)) return { kind: 'converted', message }
  const converter = new Converter(message)
  try {
    await converter.entity(message, { depth: 0, isMessage: true, otherwise: 'text/plain' })
    return { kind: 'converted', message: Buffer.concat(converter.out) }
  } catch (error) {
    if (!(error instanceof Impossible)) throw error
    return { kind: 'impossible', why: error.message }
  }
}

/** Whether the octets are 7-bit data (RFC 2045 §2.7). */
export function isSevenBit(bytes: Buffer): boolean {
  if (!isAscii(bytes) || bytes.includes(0)) return false
  let start = 0
  for (let lf = bytes.indexOf(10); lf >= 0; lf = bytes.indexOf(10, start)) {
    if (lf - start > MAX_LINE + 1) return false
    start = lf + 1
  }
  return bytes.length - start <= MAX_LINE
}

interface Place {
  depth: number
  /** Whether it is a message, which has MIME-Version, or a part. */
  isMessage: boolean
  /** The default content type. */
  otherwise: string
}

/** An entity with a parsed header that can be written in ASCII. */
interface Entity extends Place, ContentType {
  fields: HeaderField[]
  /** In lower case; `7bit` when missing (RFC 2045 §6.1). */
  encoding: string
  body: Buffer
}

class Converter {
  readonly out: Uint8Array[] = []
  readonly #budget: SearchBudget
  #parts = 0

  constructor(message: Buffer) {
    this.#budget = createSearchBudget(message.length)
  }

  async entity(bytes: Buffer, place: Place): Promise<void> {
    if (isSevenBit(bytes)) return this.#put(bytes)
    if (place.depth > MAX_DEPTH || ++this.#parts > MAX_PARTS)
      throw new Impossible('its parts are nested too deeply')
    const entity = readEntity(bytes, place)
    const { type, encoding, body } = entity
    if (isSevenBit(body)) return this.#put(headerOf(entity), body)
    if (isSignedOrEncrypted(type))
      throw new Impossible(
        'it has 8-bit text inside a signed or encrypted part, which a conversion would break',
      )
    const identity = /^(?:7bit|8bit|binary)$/.test(encoding)
    if (type.startsWith('multipart/') && identity) return this.#multipart(entity)
    if (type === 'message/rfc822' && identity) {
      // An embedded message must not be encoded itself, so its content is (RFC 2046 §5.2.1).
      this.#put(headerOf({ ...entity, encoding: '7bit' }))
      return this.entity(body, { depth: place.depth + 1, isMessage: true, otherwise: 'text/plain' })
    }
    // Composite types can't be encoded (RFC 2045 §6.4), except message/global and its relatives (RFC 6532 §3.7).
    if (type.startsWith('multipart/') || (type.startsWith('message/') && !type.startsWith('message/global')))
      throw new Impossible(`a part of type ${type} must not be encoded`)
    return this.#leaf(entity)
  }

  /**
   * Converts the parts of a multipart. Text between the parts is ignored by readers (RFC 2046 §5.1.1), and loses its
   * non-ASCII octets.
   */
  async #multipart(entity: Entity): Promise<void> {
    const { type, parameters, body, depth } = entity
    const boundary = parameters.get('boundary')
    const found = boundary
      ? splitMultipart(body, [0, body.length], boundary, { most: MAX_PARTS + 1, budget: this.#budget })
      : undefined
    const parts = [...(found?.parts ?? []), ...(found?.unclosed ? [found.unclosed] : [])]
    if (parts.length === 0) throw new Impossible(`a part of type ${type} has no delimiters`)
    this.#put(headerOf({ ...entity, encoding: '7bit' }))
    const otherwise = type === 'multipart/digest' ? 'message/rfc822' : 'text/plain'
    let at = 0
    for (const [start, end] of parts) {
      this.#put(withoutAccents(body.subarray(at, start)))
      await this.entity(body.subarray(start, end), { depth: depth + 1, isMessage: false, otherwise })
      at = end
    }
    this.#put(withoutAccents(body.subarray(at)))
  }

  async #leaf(entity: Entity): Promise<void> {
    const { type, body } = entity
    const encoding = encodingFor(entity)
    this.#put(headerOf({ ...entity, encoding }))
    const encode = encoders(entity.encoding)[encoding]
    if (!encode) throw new Impossible(`a part of type ${type} has the unknown encoding ${entity.encoding}`)
    for (let at = 0; at < body.length;) {
      const end = encode.lines ? lineEndNear(body, at + TURN) : Math.min(body.length, at + TURN)
      this.#put(Buffer.from(encode.piece(body.subarray(at, end)), 'latin1'))
      at = end
      if (encoding === 'base64' && (at < body.length || endsWithLine(body))) this.#put(CRLF)
      if (at < body.length) await new Promise((resolve) => setImmediate(resolve))
    }
  }

  #put(...pieces: Uint8Array[]): void {
    this.out.push(...pieces)
  }
}

const CRLF = Buffer.from('\r\n')
const endsWithLine = (bytes: Buffer): boolean => bytes.at(-1) === 10

function readEntity(bytes: Buffer, place: Place): Entity {
  const { fields, bodyOffset } = splitMessage(bytes)
  if (!endsWithBlankLine(bytes, bodyOffset) && bodyOffset < bytes.length)
    throw new Impossible('a part has a header that is not well-formed')
  const encoded = fields.map((field): HeaderField => ({ name: field.name, raw: encodeField(field) }))
  const bad = encoded.find(({ raw }) => !isSevenBit(Buffer.from(raw)))
  if (bad) throw new Impossible(`the field ${bad.name} cannot be encoded as short ASCII lines`)
  const [types, encodings] = [
    getFieldValues(fields, 'content-type'),
    getFieldValues(fields, 'content-transfer-encoding'),
  ]
  if (types.length > 1 || encodings.length > 1)
    throw new Impossible('a part has two Content-Type or Content-Transfer-Encoding fields')
  const type = parseContentType(types[0] ?? place.otherwise)
  const encoding = /^[^\s;(]+/.exec(encodings[0] ?? '')?.[0].toLowerCase() ?? '7bit'
  return { ...place, ...type, fields: encoded, encoding, body: bytes.subarray(bodyOffset) }
}

/** Writes the header with its new encoding, and the blank line at its end. */
function headerOf({ fields, encoding, isMessage }: Entity): Buffer {
  const line = {
    name: 'Content-Transfer-Encoding',
    raw: Buffer.from(`Content-Transfer-Encoding: ${encoding}\r\n`),
  }
  const has = (name: string) => fields.some((field) => field.name.toLowerCase() === name)
  const written = fields.map((field) =>
    field.name.toLowerCase() === 'content-transfer-encoding' ? line : field,
  )
  // Without MIME-Version, readers may ignore the encoding (RFC 2045 §4).
  if (isMessage && !has('mime-version'))
    written.push({ name: 'MIME-Version', raw: Buffer.from('MIME-Version: 1.0\r\n') })
  if (!has('content-transfer-encoding') && encoding !== '7bit') written.push(line)
  return Buffer.concat([...written.map(({ raw }) => raw), CRLF])
}

/**
 * Returns the encoding for a body: base64 and quoted-printable stay; otherwise quoted-printable for text unless base64
 * is shorter, and base64 for everything else.
 */
function encodingFor({ type, encoding, body }: Entity): 'base64' | 'quoted-printable' {
  if (encoding === 'base64' || encoding === 'quoted-printable') return encoding
  const isText = type === '' || type.startsWith('text/')
  return isText && !prefersBase64(body.subarray(0, TURN)) ? 'quoted-printable' : 'base64'
}

interface Encoder {
  /** Whether pieces must be whole lines. */
  lines: boolean
  piece: (octets: Buffer) => string
}

/**
 * Returns the encoders for a body that already has encoding `from`. Octets that this encoding doesn't allow are
 * repaired.
 */
function encoders(from: string): Partial<Record<'base64' | 'quoted-printable', Encoder>> {
  switch (from) {
    case '7bit':
    case '8bit':
    case 'binary':
      return {
        base64: { lines: false, piece: encodeMimeBase64 },
        'quoted-printable': { lines: true, piece: encodeQuotedPrintable },
      }
    case 'base64':
      // Readers ignore characters outside the base64 alphabet (RFC 2045 §6.8).
      return { base64: { lines: true, piece: onlyDigits } }
    case 'quoted-printable':
      return { 'quoted-printable': { lines: true, piece: quotedAgain } }
    default:
      return {}
  }
}

const onlyDigits = (octets: Buffer): string =>
  octets
    .toString('latin1')
    .replaceAll(/[^A-Za-z\d+/=]/g, '')
    .replaceAll(/.{76}(?=.)/g, '$&\r\n')

/**
 * Decodes quoted-printable as leniently as mail clients do, and encodes it again. A piece that doesn't end with a line
 * ends with a soft line break.
 */
function quotedAgain(octets: Buffer): string {
  const text = decodeQuotedPrintable(octets.toString('latin1').replaceAll(/(?<![ \t])[ \t]+(?=\r\n)/g, ''))
  const encoded = encodeQuotedPrintable(text)
  return endsWithLine(octets) && !text.subarray(-2).equals(CRLF) ? `${encoded}=\r\n` : encoded
}

/** Returns the offset after the first line end at `from` or later. */
function lineEndNear(bytes: Buffer, from: number): number {
  const lf = bytes.indexOf(10, from)
  return lf < 0 ? bytes.length : lf + 1
}

function withoutAccents(bytes: Buffer): Buffer {
  return isAscii(bytes) ? bytes : Buffer.from(bytes.toString('latin1').replaceAll(/[\x80-\xff]/g, '?'))
}
