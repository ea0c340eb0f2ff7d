import { isAscii } from 'node:buffer'
import { formatDateTime } from '../mail/date.ts'

/** A message ready for the wire. */
export interface Prepared {
  /** Every line ends with CRLF, the last one too; no bare CR or LF. */
  bytes: Buffer
  /** Bytes above 127 anywhere: BODY=8BITMIME (RFC 6152). */
  eightBit: boolean
  /** Bytes above 127 in the header section: SMTPUTF8 (RFC 6531). */
  eightBitHeader: boolean
  /** It was made for a server without 8BITMIME. */
  converted?: boolean
}

/** Octets that are copied, or looked at, in one turn of the event loop. */
const TURN = 1024 * 1024

const CR = 0x0d
const LF = 0x0a
const DOT = 0x2e

/** The message with what goes in front of it, such as its signature. Copies large ones in several turns of the event loop. */
export async function prepare(prefix: Uint8Array, message: Uint8Array): Promise<Prepared> {
  const bytes = Buffer.allocUnsafe(prefix.length + message.length)
  bytes.set(prefix)
  for (let at = 0; at < message.length; at += TURN) {
    if (at > 0) await new Promise((resolve) => setImmediate(resolve))
    bytes.set(message.subarray(at, at + TURN), prefix.length + at)
  }
  const gap = bytes.indexOf('\r\n\r\n')
  return {
    bytes,
    eightBit: !isAscii(bytes),
    eightBitHeader: !isAscii(gap < 0 ? bytes : bytes.subarray(0, gap)),
  }
}

/**
 * Makes every line end a CRLF. What was composed here passes through unchanged, and uncopied. To be done before signing: servers take
 * a bare CR or LF for a line end, for nothing, or for an attack (SMTP smuggling), and the signature would break on the way.
 */
export async function withCrlf(message: Uint8Array): Promise<Buffer> {
  const bytes = Buffer.from(message.buffer, message.byteOffset, message.byteLength)
  if (!(await hasBareLineEnd(bytes)))
    return endsWithCrlf(bytes) ? bytes : Buffer.concat([bytes, Buffer.of(CR, LF)])
  const text = bytes.toString('latin1').replaceAll(/\r\n|\r|\n/g, '\r\n')
  return Buffer.from(text.endsWith('\r\n') ? text : `${text}\r\n`, 'latin1')
}

const endsWithCrlf = (bytes: Buffer): boolean => bytes.at(-2) === CR && bytes.at(-1) === LF

async function hasBareLineEnd(bytes: Buffer): Promise<boolean> {
  for (let at = 0; at < bytes.length; at += TURN) {
    if (at > 0) await new Promise((resolve) => setImmediate(resolve))
    if (hasBareBetween(bytes, at, Math.min(bytes.length, at + TURN))) return true
  }
  return false
}

function hasBareBetween(bytes: Buffer, from: number, to: number): boolean {
  const piece = bytes.subarray(from, to)
  for (let at = piece.indexOf(LF); at >= 0; at = piece.indexOf(LF, at + 1)) {
    if (bytes[from + at - 1] !== CR) return true
  }
  for (let at = piece.indexOf(CR); at >= 0; at = piece.indexOf(CR, at + 1)) {
    if (bytes[from + at + 1] !== LF) return true
  }
  return false
}

/**
 * The message with this instant (Unix milliseconds) in its Date field, as RFC 5322 §3.3 writes it: a scheduled email may have been
 * moved after it was composed, and a Date in the future is a mark of spam. A field written in another way stays as it is.
 */
export function redate(message: Buffer, instant: number): Buffer {
  const date = formatDateTime(instant)
  const end = message.indexOf('\r\n\r\n')
  const before = message.subarray(0, Math.max(0, end)).indexOf('\r\nDate: ')
  const at = before + '\r\nDate: '.length
  if (before < 0 || message.indexOf('\r\n', at) !== at + date.length) return message
  const dated = Buffer.from(message)
  dated.write(date, at, 'latin1')
  return dated
}

/** Bytes in one block: each has its own deadline (RFC 5321 §4.5.3.2.5). */
const BLOCK = 64 * 1024

/**
 * The message as it goes over the wire, block by block: lines that begin with a dot get another one (RFC 5321 §4.5.2), the last block
 * ends with the final dot. Not a byte is changed otherwise. Blocks without such a line, nearly all, are looked through by native code.
 */
export function* dotStuffed(message: Buffer): Generator<Buffer> {
  let dot = leadingDot(message, 0)
  for (let at = 0; at < message.length || at === 0; at += BLOCK) {
    const block = message.subarray(at, at + BLOCK)
    if (dot < at) dot = leadingDot(message, at)
    const stuffed = dot < at + block.length ? stuff(block, startsLine(message, at)) : block
    const isLast = at + BLOCK >= message.length
    yield isLast ? Buffer.concat([stuffed, finalDot(message)]) : stuffed
  }
}

// Line ends are CRLF here, so LF alone tells.
const startsLine = (message: Buffer, at: number): boolean => at === 0 || message[at - 1] === LF

const finalDot = (message: Buffer): Buffer =>
  Buffer.from(startsLine(message, message.length) ? '.\r\n' : '\r\n.\r\n')

const LINE_WITH_DOT = Buffer.of(LF, DOT)

/** Where the next line begins with a dot, at `from` or later; behind the message when none does. */
function leadingDot(message: Buffer, from: number): number {
  if (message[from] === DOT && startsLine(message, from)) return from
  const found = message.indexOf(LINE_WITH_DOT, from)
  return found < 0 ? message.length : found + 1
}

function stuff(block: Buffer, atLineStart: boolean): Buffer {
  const out = Buffer.allocUnsafe(2 * block.length)
  let used = 0
  let lineStart = atLineStart
  for (const byte of block) {
    if (byte === DOT && lineStart) out[used++] = DOT
    out[used++] = byte
    lineStart = byte === LF
  }
  return out.subarray(0, used)
}
