/** Content transfer encodings of text (RFC 2045 §6). Pure. */
import { isAscii } from 'node:buffer'

/** A text ready to stand in a message: ASCII, CRLF line ends, no line over 998 octets. */
export interface EncodedText {
  encoding: '7bit' | 'quoted-printable' | 'base64'
  body: string
}

/** Longest line of an encoded text (RFC 2045 §6.7, §6.8). */
const LINE = 76
/** Encodes a text with CRLF line ends so that it survives every relay: as little as needed. */
export function encodeText(text: string): EncodedText {
  const bytes = Buffer.from(text, 'utf8')
  if (isAscii(bytes) && fits(text)) return { encoding: '7bit', body: text }
  return isDense(bytes)
    ? { encoding: 'base64', body: base64(bytes) }
    : { encoding: 'quoted-printable', body: quotedPrintable(bytes) }
}

/** Controls that are no white space: some servers refuse them, and readers show them in ways of their own. */
const CONTROLS = /[\0-\x08\v\f\x0e-\x1f\x7f]/

/**
 * Whether an ASCII text can go as it is: no controls, no line over 998 octets (RFC 5322 §2.1.1), no bare CR or LF, no line that begins
 * with "From ", which mailboxes in mbox format would change, breaking the signature.
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
  // By their places, from the end: the iterator over octets takes several times as long.
  for (let i = bytes.length - 1; i >= 0; i--) if (bytes[i]! > 126 || bytes[i] === EQUALS) count++
  return count
}

/** Whether base64 is the smaller form of what is like these octets. What is mostly ASCII stays readable otherwise. */
export function isDense(bytes: Uint8Array): boolean {
  return escapes(bytes) * 3 > bytes.length
}

/** RFC 2045 §6.8, without a final line end. */
export function base64(bytes: Buffer): string {
  return bytes.toString('base64').replace(/.{76}(?=.)/g, '$&\r\n')
}

const HEX = Buffer.from('0123456789ABCDEF', 'latin1')
const [TAB, LF, CR, SPACE, EQUALS, F] = [9, 10, 13, 32, 61, 70]

/** Octets that are not always written as they are: whether they are depends on what is around them, or they never are. */
const SPECIAL = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte <= SPACE || byte > 126 || byte === EQUALS || byte === F ? 1 : 0,
)

/** RFC 2045 §6.7. White space at the end of a line, and the F of a line that begins with "From ", are escaped too. */
export function quotedPrintable(bytes: Uint8Array): string {
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
    // There is room for an escaped octet, and for the "=" of a soft break after it.
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

/** Octets that the encoded form can have: three for each special one, and a soft break of three after each 72. */
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

/** The octets of a quoted-printable text (RFC 2045 §6.7); an `=` that begins neither an octet nor a soft line break stays. */
export function decodeQuoted(text: string): Buffer {
  const decoded = text.replaceAll(/=(?:([\da-f]{2})|\r?\n)/gi, (_, hex: string | undefined) =>
    hex === undefined ? '' : String.fromCharCode(Number.parseInt(hex, 16)),
  )
  return Buffer.from(decoded, 'latin1')
}
