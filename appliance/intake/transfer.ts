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
  // What is mostly ASCII stays readable; of what is mostly not, base64 is the smaller.
  return escapes(bytes) * 3 > bytes.length
    ? { encoding: 'base64', body: base64(bytes) }
    : { encoding: 'quoted-printable', body: quotedPrintable(bytes) }
}

/**
 * Whether an ASCII text can go as it is: no line over 998 octets (RFC 5322 §2.1.1), no bare CR or LF, no line that begins
 * with "From ", which mailboxes in mbox format would change, breaking the signature.
 */
function fits(text: string): boolean {
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

function escapes(bytes: Buffer): number {
  let count = 0
  for (const byte of bytes) if (byte > 126 || byte === 61) count++
  return count
}

function base64(bytes: Buffer): string {
  return bytes.toString('base64').replace(/.{76}(?=.)/g, '$&\r\n')
}

const HEX = Buffer.from('0123456789ABCDEF', 'latin1')
const [TAB, LF, CR, SPACE, EQUALS, F] = [9, 10, 13, 32, 61, 70]

/** RFC 2045 §6.7. White space at the end of a line, and the F of a line that begins with "From ", are escaped too. */
export function quotedPrintable(bytes: Uint8Array): string {
  // Every octet as three, and a soft break of three after each 72.
  const out = Buffer.allocUnsafe(bytes.length * 3 + Math.ceil(bytes.length / 24) * 3)
  let [at, column] = [0, 0]
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]!
    if (byte === CR && bytes[i + 1] === LF) {
      at = out.writeUInt16BE(0x0d0a, at)
      column = 0
      i++
      continue
    }
    // There is room for an escaped octet, and for the "=" of a soft break after it.
    if (column + 3 > LINE - 1) {
      at += out.write('=\r\n', at, 'latin1')
      column = 0
    }
    if (mustEscape(bytes, i, column)) {
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

function mustEscape(bytes: Uint8Array, i: number, column: number): boolean {
  const byte = bytes[i]!
  if (byte === SPACE || byte === TAB) {
    const next = bytes[i + 1]
    return next === undefined || next === CR
  }
  if (byte === F && column === 0) return bytes[i + 1] === 114 && bytes[i + 2] === 111
  return byte < SPACE || byte > 126 || byte === EQUALS
}
