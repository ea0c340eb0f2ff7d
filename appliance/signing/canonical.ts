import { createHash } from 'node:crypto'

/**
 * "Relaxed" canonicalization of headers and bodies (RFC 6376 §3.4.2, §3.4.4), the only one used for signing: it
 * survives rewrapping by forwarders.
 */

/**
 * One header field as it appears in the message, in latin1 so that one character is one byte. Includes folding but not
 * the final CRLF.
 */
export interface HeaderField {
  /** Lower case. */
  name: string
  raw: string
}

/** A message split into header and body; only the header is copied. */
export interface MessageParts {
  fields: HeaderField[]
  body: Buffer
}

const CR = 0x0d
const LF = 0x0a
const TAB = 0x09
const SPACE = 0x20

/** Splits a message at its first empty line (RFC 5322 §2.1); without one, everything is header. */
export function splitMessage(message: Uint8Array): MessageParts {
  const bytes = Buffer.from(message.buffer, message.byteOffset, message.byteLength)
  if (bytes[0] === CR && bytes[1] === LF) return { fields: [], body: bytes.subarray(2) }
  const gap = bytes.indexOf('\r\n\r\n')
  const header = gap < 0 ? bytes : bytes.subarray(0, gap)
  const body = gap < 0 ? bytes.subarray(bytes.length) : bytes.subarray(gap + 4)
  return { fields: splitFields(header.toString('latin1')), body }
}

function splitFields(header: string): HeaderField[] {
  return header
    .split(/\r\n(?![ \t])/)
    .filter((raw) => raw.includes(':'))
    .map((raw) => ({ name: raw.slice(0, raw.indexOf(':')).trim().toLowerCase(), raw }))
}

/** Formats a header field in relaxed form, without CRLF (RFC 6376 §3.4.2). */
export function canonicalizeHeader(field: HeaderField): string {
  const value = field.raw.slice(field.raw.indexOf(':') + 1)
  // White space is space and tab only (RFC 6376 §2.8); \s would match bytes of 8-bit text.
  const unfolded = value.replaceAll('\r\n', '').replaceAll(/[ \t]+/g, ' ')
  return `${field.name}:${unfolded.replace(/^ /, '').replace(/ $/, '')}`
}

/**
 * Output that can't be hashed in place is collected in chunks of this size, so that a 40 MB body needs no 40 MB copy.
 */
const PIECE = 16 * 1024
/** Minimum length of an unchanged run that is hashed without copying. */
const WORTH = 2048
/** Number of bytes to process before yielding to the event loop; takes a few milliseconds. */
const TURN = 1024 * 1024

/**
 * Canonicalizes a body chunk by chunk (RFC 6376 §3.4.4). Holds back white space and line ends until something follows,
 * because both are dropped at the end. Hashes unchanged runs, which make up most of a body, in place.
 */
class RelaxedBody {
  readonly #out: (piece: Uint8Array) => void
  #piece: Buffer | undefined
  #used = 0
  #space = false
  #breaks = 0
  #any = false

  constructor(out: (piece: Uint8Array) => void) {
    this.#out = out
  }

  /**
   * Processes `body` from `from` to `to`. Returns where to continue, up to two bytes further if a CRLF straddles `to`.
   */
  take(body: Buffer, from: number, to: number): number {
    let at = from
    while (at < to) {
      const byte = body[at]!
      if (byte === SPACE || byte === TAB) {
        this.#space = true
        at += 1
      } else if (byte === CR && body[at + 1] === LF) {
        this.#space = false
        this.#breaks++
        at += 2
      } else {
        const end = unchangedUntil(body, at, to)
        this.#release()
        this.#run(body, at, end)
        at = end
      }
    }
    return at
  }

  /** Finishes the body. A body that isn't empty ends with one CRLF; an empty one stays empty (RFC 6376 §3.4.4). */
  end(): void {
    if (this.#any) {
      this.#put(CR)
      this.#put(LF)
    }
    this.#flush()
  }

  #release(): void {
    for (; this.#breaks > 0; this.#breaks--) {
      this.#put(CR)
      this.#put(LF)
    }
    if (this.#space) this.#put(SPACE)
    this.#space = false
    this.#any = true
  }

  #run(body: Buffer, from: number, to: number): void {
    if (to - from >= WORTH) {
      this.#flush()
      this.#out(body.subarray(from, to))
      return
    }
    if (this.#used + to - from > PIECE) this.#flush()
    const piece = (this.#piece ??= Buffer.allocUnsafe(PIECE))
    let used = this.#used
    for (let at = from; at < to; at++) piece[used++] = body[at]!
    this.#used = used
  }

  #put(byte: number): void {
    if (this.#used === PIECE) this.#flush()
    this.#piece ??= Buffer.allocUnsafe(PIECE)
    this.#piece[this.#used++] = byte
  }

  #flush(): void {
    if (this.#piece && this.#used > 0) this.#out(this.#piece.subarray(0, this.#used))
    this.#used = 0
  }
}

/**
 * Finds the end of a run that relaxed form doesn't change, and that starts with neither white space nor CRLF. Single
 * spaces and line ends are part of the run unless white space or CRLF follows.
 */
function unchangedUntil(body: Buffer, from: number, to: number): number {
  let at = from + 1
  for (; at < to; at++) {
    const byte = body[at]!
    if (byte > SPACE) continue
    const isBreak = byte === CR && body[at + 1] === LF
    if (byte !== SPACE && byte !== TAB && !isBreak) continue
    const next = body[at + (isBreak ? 2 : 1)]
    if (byte === TAB || next === undefined || next <= SPACE) break
    if (isBreak) at++
  }
  return at
}

/**
 * Computes the SHA-256 of the relaxed body in base64: the `bh=` tag of every signature of the message (RFC 6376 §3.7).
 */
export async function hashBody(body: Buffer): Promise<string> {
  const hash = createHash('sha256')
  const relaxed = new RelaxedBody((piece) => hash.update(piece))
  for (let at = 0; at < body.length;) {
    at = relaxed.take(body, at, Math.min(body.length, at + TURN))
    if (at < body.length) await new Promise((resolve) => setImmediate(resolve))
  }
  relaxed.end()
  return hash.digest('base64')
}
