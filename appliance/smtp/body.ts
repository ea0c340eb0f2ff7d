/** Takes a message off the wire: where it ends, and whether it may be taken at all. No I/O. */
import { MAX_HEADER } from '../mail/headers.ts'
import { Refusal, refuse } from '../mail/refusals.ts'

const [CR, LF, DOT, NUL] = [13, 10, 46, 0]
/** What ends a message of DATA; its first two octets are the end of the last line. */
const END = Buffer.from('\r\n.\r\n')

/** Where the last octet was: at the start of a line, within one, after CR, after a leading dot, after that dot's CR. */
type Place = 'start' | 'text' | 'cr' | 'dot' | 'dot-cr'
/** So many octets of `END` have come there. */
const CAME: Readonly<Record<Place, number>> = { text: 0, cr: 1, start: 2, dot: 3, 'dot-cr': 4 }

export interface BodyOptions {
  /** Largest message in octets. */
  limit: number
  /** Longest line, in octets without CRLF. */
  line: number
  /** DATA: dots are unstuffed and CRLF.CRLF is the end. BDAT counts octets instead. */
  dots: boolean
}

/** Where octets of a message go: `Incoming`, or in tests a list. */
export interface Sink {
  /** Copies the octets. A promise: nothing more is to be read until it resolves. May throw a `Refusal`. */
  add(piece: Uint8Array): Promise<void> | undefined
  discard(): void
}

/** How many octets of a chunk belong to the message and its end mark, and whether the end was among them. */
interface Fed {
  used: number
  ended: boolean
}

/**
 * A message in the making. Only CRLF.CRLF ends it, and a bare CR, a bare LF or a NUL spoils it: what one server takes
 * for the end of a line another does not, and whole messages can be smuggled through that gap. A spoilt message is read
 * to its end, because the client goes on sending it.
 */
export class Body {
  /** Why the message cannot be taken; the first reason wins. */
  refusal: Refusal | null = null
  /** It came too slowly. */
  tooSlow = false
  /** What to wait for before more is read. */
  full: Promise<void> | undefined
  readonly #options: BodyOptions
  readonly #sink: Sink
  /** Octets handed on, and octets that came, end mark apart. */
  #kept = 0
  #came = 0
  #place: Place = 'start'
  #line = 0
  /** Whether the blank line that ends the header has not come yet. */
  #header = true
  /** Of a spoilt message: so many octets of `END` were the last to come. */
  #ending: number | null = null

  constructor(options: BodyOptions, sink: Sink) {
    this.#options = options
    this.#sink = sink
  }

  /** Octets of the message so far; of one that cannot be taken, as they came: with the dots that were stuffed. */
  get size(): number {
    return this.refusal ? this.#came : this.#kept
  }

  /** Takes octets; returns how many belong to the message and its end mark, and whether the end was among them. */
  feed(chunk: Buffer): Fed {
    if (this.refusal) return this.#passOver(chunk, 0)
    const message = new Unstuffed(chunk)
    for (let at = 0; at < chunk.length; at++) {
      const octet = chunk[at]!
      if (octet > CR && (octet !== DOT || this.#place !== 'start' || !this.#options.dots)) {
        const end = ordinaryUntil(chunk, at + 1)
        this.#within(end - at)
        at = end - 1
        // As nearly all lines end.
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
        // The CR of an end mark is not part of the message.
        if (this.#place === 'dot-cr') message.leaveOut(at)
      }
      if (this.refusal) return this.#passOver(chunk, at + 1)
    }
    this.#came += chunk.length
    this.#keep(message.until(chunk.length))
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

  /** A CR, a LF, or another control. */
  #step(octet: number): void {
    const after = this.#place
    if (octet === LF) {
      if (after !== 'cr') this.spoil(refuse('message_bare_newline', { what: 'LF' }))
      // After a bare LF no line begins, so that no dot there means anything.
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

  /** So many octets of a line that are not its end. */
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
      // No room for it; the client goes on sending, and hears why at the end.
      if (!(error instanceof Refusal)) throw error
      this.spoil(error)
    }
  }

  /** Looks for nothing but the end, from `from` on: what is refused costs hardly more than its way over the wire. */
  #passOver(chunk: Buffer, from: number): Fed {
    const all: Fed = { used: chunk.length, ended: false }
    if (!this.#options.dots) {
      this.#came += chunk.length
      return all
    }
    const rest = chunk.subarray(from)
    const before = END.subarray(0, this.#ending ?? CAME[this.#place])
    // An end that began before, and one that did not.
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

/** A chunk without the octets that are left out. Copied once, and only where it has to be: lines may be three octets long. */
class Unstuffed {
  readonly #chunk: Buffer
  #copy: Buffer | null = null
  /** Octets in the copy; without one, those before the first octet that is left out. */
  #size = 0
  /** Where that begins which is not handed over yet. */
  #from = 0

  constructor(chunk: Buffer) {
    this.#chunk = chunk
  }

  leaveOut(at: number): void {
    this.#add(at)
    this.#from = at + 1
  }

  /** What is before `at` and was not left out. */
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
    // A call for each line would cost more than the loop.
    if (until - from > 64) chunk.copy(copy, size, from, until)
    else for (let i = from; i < until; i++) copy[size++] = chunk[i]!
  }
}

/** Where the stretch from `from` on ends in which no octet can be CR, LF or NUL: most of what there is, at a glance. */
function ordinaryUntil(chunk: Buffer, from: number): number {
  let at = from
  while (at < chunk.length && chunk[at]! > CR) at++
  return at
}
