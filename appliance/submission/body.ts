/** Takes a message off the wire: where it ends, and whether it may be taken at all. No I/O. */
import { MAX_HEADER } from '../mail/headers.ts'
import { Refusal, refuse } from '../mail/refusals.ts'
import { MAX_TEXT_LINE } from './limits.ts'

const [CR, LF, DOT, NUL] = [13, 10, 46, 0]

/** Where the last octet was: at the start of a line, within one, after CR, after a leading dot, after that dot's CR. */
type Place = 'start' | 'text' | 'cr' | 'dot' | 'dot-cr'

export interface BodyOptions {
  /** Largest message in octets. */
  limit: number
  /** DATA: dots are unstuffed and CRLF.CRLF is the end. BDAT counts octets instead. */
  dots: boolean
}

/** Where octets of a message go: `Incoming`, or in tests a list. */
export interface Sink {
  /** Copies the octets. A promise: nothing more is to be read until it resolves. May throw a `Refusal`. */
  add(piece: Uint8Array): Promise<void> | undefined
  discard(): void
}

/**
 * A message in the making. Only CRLF.CRLF ends it, and a bare CR, a bare LF or a NUL spoils it: what one server takes
 * for the end of a line another does not, and whole messages can be smuggled through that gap. A spoilt message is read
 * to its end, because the client goes on sending it.
 */
export class Body {
  /** Why the message cannot be taken; the first reason wins. */
  refusal: Refusal | null = null
  /** Octets of the message so far. */
  size = 0
  /** It came too slowly. */
  tooSlow = false
  /** What to wait for before more is read. */
  full: Promise<void> | undefined
  readonly #options: BodyOptions
  readonly #sink: Sink
  #place: Place = 'start'
  #line = 0
  /** Whether the blank line that ends the header has not come yet. */
  #header = true

  constructor(options: BodyOptions, sink: Sink) {
    this.#options = options
    this.#sink = sink
  }

  /** Takes octets; returns how many belong to the message and its end mark, and whether the end was among them. */
  feed(chunk: Buffer): { used: number; ended: boolean } {
    let from = 0
    for (let at = 0; at < chunk.length; at++) {
      const octet = chunk[at]!
      if (this.#place === 'dot-cr' && octet === LF) return { used: at + 1, ended: true }
      if (this.#place === 'start' && octet === DOT && this.#options.dots) {
        this.#keep(chunk.subarray(from, at))
        from = at + 1
        this.#place = 'dot'
        continue
      }
      const ordinary = ordinaryUntil(chunk, at) - at
      if (ordinary > 0 && this.#place !== 'cr' && this.#place !== 'dot-cr') {
        this.#within(ordinary)
        at += ordinary - 1
        continue
      }
      this.#step(octet)
      // The CR of an end mark that is spread over two chunks is not part of the message.
      if (this.#place === 'dot-cr') from = at + 1
    }
    this.#keep(chunk.subarray(from))
    return { used: chunk.length, ended: false }
  }

  /** Spoils the message for a reason that is not in its octets. */
  spoil(refusal: Refusal): void {
    this.refusal ??= refusal
    this.#sink.discard()
  }

  /** To be called when it has ended: the sink has the whole message unless there is a refusal. */
  end(): void {
    if (this.#place === 'cr') this.spoil(refuse('message_bare_newline', { what: 'CR' }))
  }

  #step(octet: number): void {
    const after = this.#place
    if (octet === LF) {
      if (after !== 'cr') this.spoil(refuse('message_bare_newline', { what: 'LF' }))
      // After a bare LF no line begins, so that no dot there means anything.
      this.#place = after === 'cr' ? 'start' : 'text'
      if (this.#line === 0) this.#header = false
      this.#line = 0
      return
    }
    if (after === 'cr' || after === 'dot-cr') this.spoil(refuse('message_bare_newline', { what: 'CR' }))
    if (octet === NUL) this.spoil(refuse('message_bare_newline', { what: 'NUL' }))
    if (octet === CR) this.#place = after === 'dot' ? 'dot-cr' : 'cr'
    else this.#within(1)
  }

  /** So many octets of a line that are not its end. */
  #within(octets: number): void {
    this.#place = 'text'
    this.#line += octets
    if (this.#line > MAX_TEXT_LINE) this.spoil(refuse('message_long_line', { limit: MAX_TEXT_LINE }))
  }

  #keep(piece: Buffer): void {
    if (piece.length === 0) return
    this.size += piece.length
    if (this.size > this.#options.limit)
      this.spoil(refuse('message_too_large', { limit: this.#options.limit }))
    if (this.#header && this.size > MAX_HEADER)
      this.spoil(refuse('message_malformed', { expected: `its header is larger than ${MAX_HEADER} bytes` }))
    if (this.refusal) return
    try {
      this.full = this.#sink.add(piece) ?? this.full
    } catch (error) {
      // No room for it; the client goes on sending, and hears why at the end.
      if (!(error instanceof Refusal)) throw error
      this.spoil(error)
    }
  }
}

/** Where the stretch from `from` on ends in which no octet can be CR, LF or NUL: most of what there is, at a glance. */
function ordinaryUntil(chunk: Buffer, from: number): number {
  let at = from
  while (at < chunk.length && chunk[at]! > CR) at++
  return at
}
