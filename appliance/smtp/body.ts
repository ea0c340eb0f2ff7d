/** Parses a message as it is received: finds its end, and rejects invalid content. No I/O. */
import { MAX_HEADER } from '../mail/headers.ts'
import { Refusal, refuse } from '../mail/refusals.ts'

const [CR, LF, DOT, NUL] = [13, 10, 46, 0]
/** The end of DATA (RFC 5321 §4.1.1.4). Its first two octets end the last line. */
const END = Buffer.from('\r\n.\r\n')

/**
 * The state after the last octet: at the start of a line, within a line, after CR, after a leading dot, or after the CR
 * that follows such a dot.
 */
type Place = 'start' | 'text' | 'cr' | 'dot' | 'dot-cr'
/** Number of octets of `END` that have been received in each state. */
const CAME: Readonly<Record<Place, number>> = { text: 0, cr: 1, start: 2, dot: 3, 'dot-cr': 4 }

export interface BodyOptions {
  /** Maximum message size in octets. */
  limit: number
  /** Maximum line length, in octets without CRLF. */
  line: number
  /**
   * True for DATA: removes stuffed dots (RFC 5321 §4.5.2) and ends at CRLF.CRLF. False for BDAT, whose length is known.
   */
  dots: boolean
}

/** Where a message is written: `IncomingBody`, or a list in tests. */
export interface Sink {
  /** Adds a copy of the octets. If this returns a promise, don't read more until it resolves. May throw a `Refusal`. */
  add(piece: Uint8Array): Promise<void> | undefined
  discard(): void
}

/** The number of octets in a chunk that belong to the message and its end, and whether the end was found. */
interface Fed {
  used: number
  ended: boolean
}

/**
 * A message being received. Only CRLF.CRLF ends it, and a bare CR, bare LF or NUL makes it invalid (RFC 5321 §2.3.8,
 * §4.1.1.4), because servers that disagree on line ends allow SMTP smuggling. An invalid message is still read to its
 * end, because the client keeps sending.
 */
export class Body {
  /** Why the message can't be accepted; the first reason is kept. */
  refusal: Refusal | null = null
  /** Whether the client sent too slowly. */
  tooSlow = false
  /** Set while the sink is full. Await it before reading more. */
  full: Promise<void> | undefined
  readonly #options: BodyOptions
  readonly #sink: Sink
  /** Number of octets written to the sink, and number of octets received, except the end. */
  #kept = 0
  #came = 0
  #place: Place = 'start'
  #line = 0
  /** Whether the header is still being received. */
  #header = true
  /** For an invalid message, the number of octets of `END` at the end of the input so far. */
  #ending: number | null = null

  constructor(options: BodyOptions, sink: Sink) {
    this.#options = options
    this.#sink = sink
  }

  /**
   * Size of the message so far, in octets. For an invalid message, this is the number of octets received, including
   * stuffed dots.
   */
  get size(): number {
    return this.refusal ? this.#came : this.#kept
  }

  /** Processes a chunk. Returns how many octets belong to the message and its end, and whether the end was found. */
  feed(chunk: Buffer): Fed {
    if (this.refusal) return this.#passOver(chunk, 0)
    const message = new Unstuffed(chunk)
    for (let at = 0; at < chunk.length; at++) {
      const octet = chunk[at]!
      if (octet > CR && (octet !== DOT || this.#place !== 'start' || !this.#options.dots)) {
        const end = ordinaryUntil(chunk, at + 1)
        this.#within(end - at)
        at = end - 1
        // The usual case: a complete line.
        if (chunk[end] === CR && chunk[end + 1] === LF) {
          this.#place = 'start'
          this.#line = 0
          at = end + 1
        }
      } else if (octet === DOT) {
        message.leaveOut(at)
        this.#place = 'dot'
      } else if (octet === LF && this.#place === 'dot-cr') {
        this.#came += at + 1 - 3
        this.#keep(message.until(at))
        return { used: at + 1, ended: true }
      } else {
        this.#step(octet)
        // The CR after the final dot isn't part of the message.
        if (this.#place === 'dot-cr') message.leaveOut(at)
      }
      if (this.refusal) return this.#passOver(chunk, at + 1)
    }
    this.#came += chunk.length
    this.#keep(message.until(chunk.length))
    return { used: chunk.length, ended: false }
  }

  /** Marks the message as invalid for a reason other than its content. */
  spoil(refusal: Refusal): void {
    this.refusal ??= refusal
    this.#sink.discard()
  }

  /**
   * Must be called when the message has ended. Afterwards, the sink has the whole message, unless there is a refusal.
   */
  end(): void {
    if (this.#place === 'cr') this.spoil(refuse('message_bare_newline', { what: 'CR' }))
  }

  /** Handles a CR, LF or other control character. */
  #step(octet: number): void {
    const after = this.#place
    if (octet === LF) {
      if (after !== 'cr') this.spoil(refuse('message_bare_newline', { what: 'LF' }))
      // A bare LF doesn't start a new line, so a dot after it isn't special.
      this.#place = after === 'cr' ? 'start' : 'text'
      if (this.#line === 0) this.#header = false
      this.#line = 0
    } else if (octet === CR) {
      if (after === 'cr' || after === 'dot-cr') this.spoil(refuse('message_bare_newline', { what: 'CR' }))
      this.#place = after === 'dot' ? 'dot-cr' : 'cr'
    } else {
      this.#within(1)
      if (octet === NUL) this.spoil(refuse('message_bare_newline', { what: 'NUL' }))
    }
  }

  /** Counts the octets of a line, excluding its CRLF. */
  #within(octets: number): void {
    if (this.#place === 'cr' || this.#place === 'dot-cr')
      this.spoil(refuse('message_bare_newline', { what: 'CR' }))
    this.#place = 'text'
    this.#line += octets
    const { line } = this.#options
    if (this.#line > line) this.spoil(refuse('message_long_line', { limit: line }))
  }

  #keep(piece: Buffer): void {
    if (piece.length === 0) return
    this.#kept += piece.length
    if (this.#kept > this.#options.limit)
      this.spoil(refuse('message_too_large', { limit: this.#options.limit }))
    if (this.#header && this.#kept > MAX_HEADER)
      this.spoil(refuse('message_malformed', { expected: `its header is larger than ${MAX_HEADER} bytes` }))
    if (this.refusal) return
    try {
      this.full = this.#sink.add(piece) ?? this.full
    } catch (error) {
      // There is no space left. The client keeps sending, so it gets the reply after the message.
      if (!(error instanceof Refusal)) throw error
      this.spoil(error)
    }
  }

  /**
   * Searches only for the end of the message, from offset `from` on, so that a refused message costs little more than
   * receiving it.
   */
  #passOver(chunk: Buffer, from: number): Fed {
    const all: Fed = { used: chunk.length, ended: false }
    if (!this.#options.dots) {
      this.#came += chunk.length
      return all
    }
    const rest = chunk.subarray(from)
    const before = END.subarray(0, this.#ending ?? CAME[this.#place])
    // Look for an end that spans two chunks, then for an end within this chunk.
    const begun = Buffer.concat([before, rest.subarray(0, END.length - 1)])
    const far = begun.indexOf(END)
    const at = far < 0 ? rest.indexOf(END) : far - before.length
    if (far >= 0 || at >= 0) {
      const used = from + at + END.length
      this.#came += used - 3
      return { used, ended: true }
    }
    this.#came += chunk.length
    const last = rest.length < END.length ? begun : rest.subarray(-END.length)
    let ending = END.length - 1
    while (!last.subarray(Math.max(0, last.length - ending)).equals(END.subarray(0, ending))) ending--
    this.#ending = ending
    return all
  }
}

/**
 * A chunk without the octets to leave out. Copies the chunk at most once, because lines may be as short as three
 * octets.
 */
class Unstuffed {
  readonly #chunk: Buffer
  #copy: Buffer | null = null
  /** Number of octets in the copy; without a copy, the offset of the first octet to leave out. */
  #size = 0
  /** Offset of the first octet that hasn't been added yet. */
  #from = 0

  constructor(chunk: Buffer) {
    this.#chunk = chunk
  }

  leaveOut(at: number): void {
    this.#add(at)
    this.#from = at + 1
  }

  /** Returns everything before `at`, without the octets to leave out. */
  until(at: number): Buffer {
    this.#add(at)
    return (this.#copy ?? this.#chunk).subarray(0, this.#size)
  }

  #add(until: number): void {
    const chunk = this.#chunk
    const from = this.#from
    let size = this.#size
    if (from >= until) return
    this.#from = until
    this.#size += until - from
    if (from === 0) return
    if (!this.#copy) {
      this.#copy = Buffer.allocUnsafe(chunk.length)
      chunk.copy(this.#copy, 0, 0, size)
    }
    const copy = this.#copy
    // For short lines, a loop is faster than a call.
    if (until - from > 64) chunk.copy(copy, size, from, until)
    else for (let i = from; i < until; i++) copy[size++] = chunk[i]!
  }
}

/** Returns the offset of the next octet that could be CR, LF or NUL. Skips ordinary text quickly. */
function ordinaryUntil(chunk: Buffer, from: number): number {
  let at = from
  while (at < chunk.length && chunk[at]! > CR) at++
  return at
}
