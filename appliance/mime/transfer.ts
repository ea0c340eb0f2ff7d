/** Content transfer encodings of text (RFC 2045 §6). Pure. */
import { isAscii } from 'node:buffer'

/** Text ready for a message: ASCII, CRLF line ends, no line over 998 octets. */
export interface EncodedText {
  encoding: '7bit' | 'quoted-printable' | 'base64'
  body: string
}

/** Maximum line length of encoded text (RFC 2045 §6.7, §6.8). */
const LINE = 76
/** Encodes text with CRLF line ends so that it passes every relay. Doesn't encode more than necessary. */
export function encodeText(text: string): EncodedText {
  const bytes = Buffer.from(text, 'utf8')
  if (isAscii(bytes) && fits(text)) return { encoding: '7bit', body: text }
  return prefersBase64(bytes)
    ? { encoding: 'base64', body: encodeMimeBase64(bytes) }
    : { encoding: 'quoted-printable', body: encodeQuotedPrintable(bytes) }
}

/** Control characters other than white space. Some servers refuse them, and mail clients show them inconsistently. */
const CONTROLS = /[\0-\x08\v\f\x0e-\x1f\x7f]/

/**
 * Whether ASCII text can go unencoded: no control characters, no line over 998 octets (RFC 5322 §2.1.1), no bare CR or
 * LF, and no line that begins with "From ". Mailboxes in mbox format would change such a line and break the signature.
 */
function fits(text: string): boolean {
  if (CONTROLS.test(text)) return false
  let start = 0
  for (;;) {
    if (text.startsWith('From ', start)) return false
    const lf = text.indexOf('\n', start)
    const end = lf < 0 ? text.length : lf - 1
    if (end - start > 998 || (lf >= 0 && text[end] !== '\r')) return false
    const cr = text.indexOf('\r', start)
    if (cr >= 0 && cr < end) return false
    if (lf < 0) return cr < 0
    start = lf + 1
  }
}

function escapes(bytes: Uint8Array): number {
  let count = 0
  // An index loop from the end: the iterator is several times slower.
  for (let i = bytes.length - 1; i >= 0; i--) if (bytes[i]! > 126 || bytes[i] === EQUALS) count++
  return count
}

/** Whether base64 is the shorter encoding for these octets. If not, they are mostly ASCII and stay readable. */
export function prefersBase64(bytes: Uint8Array): boolean {
  return escapes(bytes) * 3 > bytes.length
}

/** Encodes as base64 (RFC 2045 §6.8), without a final line end. */
export function encodeMimeBase64(bytes: Buffer): string {
  return bytes.toString('base64').replace(/.{76}(?=.)/g, '$&\r\n')
}

const HEX = Buffer.from('0123456789ABCDEF', 'latin1')
const [TAB, LF, CR, SPACE, EQUALS, F] = [9, 10, 13, 32, 61, 70]

/** Octets that are never written literally, or only in some contexts. */
const SPECIAL = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte <= SPACE || byte > 126 || byte === EQUALS || byte === F ? 1 : 0,
)

/**
 * Encodes as quoted-printable (RFC 2045 §6.7). Also escapes white space at the end of a line, and the F of a line that
 * begins with "From ".
 */
export function encodeQuotedPrintable(bytes: Uint8Array): string {
  const out = Buffer.allocUnsafe(mostEncoded(bytes))
  let [at, column] = [0, 0]
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]!
    if (byte === CR && bytes[i + 1] === LF) {
      out[at++] = CR
      out[at++] = LF
      column = 0
      i++
      continue
    }
    // Leave space for an escaped octet and the "=" of a soft line break.
    if (column + 3 > LINE - 1) {
      out[at++] = EQUALS
      out[at++] = CR
      out[at++] = LF
      column = 0
    }
    if (SPECIAL[byte] === 1 && mustEscape(bytes, i, column)) {
      out[at++] = EQUALS
      out[at++] = HEX[byte >> 4]!
      out[at++] = HEX[byte & 15]!
      column += 3
    } else {
      out[at++] = byte
      column += 1
    }
  }
  return out.toString('latin1', 0, at)
}

/** Maximum size of the encoded form: three octets for each special one, and three for a soft line break per 72. */
function mostEncoded(bytes: Uint8Array): number {
  let most = bytes.length
  for (let i = bytes.length - 1; i >= 0; i--) most += 2 * SPECIAL[bytes[i]!]!
  return most + Math.ceil(most / (LINE - 4)) * 3
}

function mustEscape(bytes: Uint8Array, i: number, column: number): boolean {
  const byte = bytes[i]!
  if (byte === SPACE || byte === TAB) {
    const next = bytes[i + 1]
    return next === undefined || next === CR
  }
  if (byte === F && column === 0) return bytes[i + 1] === 114 && bytes[i + 2] === 111
  return byte < SPACE || byte > 126 || byte === EQUALS
}

/** Decodes quoted-printable (RFC 2045 §6.7). An `=` that starts neither an escape nor a soft line break is kept. */
export function decodeQuotedPrintable(text: string): Buffer {
  const decoded = text.replaceAll(/=(?:([\da-f]{2})|\r?\n)/gi, (_, hex: string | undefined) =>
    hex === undefined ? '' : String.fromCharCode(Number.parseInt(hex, 16)),
  )
  return Buffer.from(decoded, 'latin1')
}
