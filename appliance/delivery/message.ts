import { isAscii } from 'node:buffer'
import { formatDateTime } from '../mail/date.ts'

/** A message ready for sending. */
export interface PreparedMessage {
  /** The message, with CRLF at the end of every line including the last; no bare CR or LF (RFC 5321 §2.3.8). */
  bytes: Buffer
  /** Whether the message has octets above 127 anywhere: BODY=8BITMIME (RFC 6152). */
  eightBit: boolean
  /** Whether the header has octets above 127: SMTPUTF8 (RFC 6531). */
  eightBitHeader: boolean
  /** Whether the message was converted for a server without 8BITMIME. */
  converted?: boolean
}

/** Octets copied or scanned per turn of the event loop. */
const TURN = 1024 * 1024

const CR = 0x0d
const LF = 0x0a
const DOT = 0x2e

/** Prepends `prefix`, such as signatures. Copies large messages over several turns of the event loop. */
export async function prepareMessage(prefix: Uint8Array, message: Uint8Array): Promise<PreparedMessage> {
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
 * Converts every line end to CRLF. Returns messages composed here unchanged and without copying. Must run before
 * signing: servers treat a bare CR or LF as a line end, as nothing, or as an attack (SMTP smuggling), and the signature
 * would break.
 */
export async function convertToCrlf(message: Uint8Array): Promise<Buffer> {
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
 * Sets the Date field to this time (Unix milliseconds, formatted by RFC 5322 §3.3). A scheduled email may have been
 * rescheduled after it was composed, and a Date in the future looks like spam. Leaves a field in another format
 * unchanged.
 */
export function updateDate(message: Buffer, instant: number): Buffer {
  const date = formatDateTime(instant)
  const end = message.indexOf('\r\n\r\n')
  const before = message.subarray(0, Math.max(0, end)).indexOf('\r\nDate: ')
  const at = before + '\r\nDate: '.length
  if (before < 0 || message.indexOf('\r\n', at) !== at + date.length) return message
  const dated = Buffer.from(message)
  dated.write(date, at, 'latin1')
  return dated
}

/** Bytes per block; each has its own timeout (RFC 5321 §4.5.3.2.5). */
const BLOCK = 64 * 1024

/**
 * Yields the message as sent, block by block: doubles a leading dot on each line (RFC 5321 §4.5.2), and ends with the
 * final dot. Blocks without such a line, nearly all, are scanned by native code.
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

// Line ends are CRLF here, so checking for LF is enough.
const startsLine = (message: Buffer, at: number): boolean => at === 0 || message[at - 1] === LF

const finalDot = (message: Buffer): Buffer =>
  Buffer.from(startsLine(message, message.length) ? '.\r\n' : '\r\n.\r\n')

const LINE_WITH_DOT = Buffer.of(LF, DOT)

/** Finds the next line that begins with a dot, at `from` or later; the end of the message when there is none. */
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
