/** Limits the complexity of untrusted JSON while it arrives, and decodes files in it. Pure. */
import { createHash } from 'node:crypto'
import { refuse } from './refusals.ts'

/** Maximum nesting. No request has more than six levels. */
const MAX_DEPTH = 64
/**
 * Maximum number of objects, arrays and strings, including names. A batch of 100 emails with 150 recipients each has
 * about 20,000.
 */
const MAX_VALUES = 100_000
/** Maximum number of names in an object. */
const MAX_NAMES = 2000
/** Maximum length of a name, in octets. */
const MAX_NAME = 4096

const [QUOTE, BACKSLASH, COLON] = [34, 92, 58]
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [91, 93, 123, 125]

/**
 * Refuses JSON whose structure needs far more memory and time than its size suggests: 40 MB of `{},` are 14 million
 * objects. Reads the body chunk by chunk, and skips strings as fast as a search. Doesn't count numbers and literals,
 * which take at most four times their size. Doesn't check that the JSON is well-formed.
 */
export class JsonBounds {
  #values = 0
  #inText = false
  /** Whether the last chunk ended in a string after an odd number of backslashes. */
  #escaped = false
  /** Length of the current or last string in octets. */
  #text = 0
  /** Number of names so far in each open object; arrays have an entry, too. */
  readonly #names: number[] = []

  /** Refuses: `body_too_complex`. */
  feed(piece: Uint8Array): void {
    for (let at = 0; at < piece.length; at++) {
      if (this.#inText) {
        at = this.#skipText(piece, at)
        continue
      }
      const octet = piece[at]!
      if (octet === QUOTE) {
        this.#inText = true
        this.#text = 0
        this.#count()
      } else if (octet === OPEN_OBJECT || octet === OPEN_ARRAY) {
        this.#count()
        if (this.#names.push(0) > MAX_DEPTH) throw tooComplex(`at most ${MAX_DEPTH} levels of nesting`)
      } else if (octet === CLOSE_OBJECT || octet === CLOSE_ARRAY) this.#names.pop()
      else if (octet === COLON) this.#name()
    }
  }

  #count(): void {
    if (++this.#values > MAX_VALUES) throw tooComplex(`at most ${MAX_VALUES} objects, arrays and strings`)
  }

  #name(): void {
    if (this.#text > MAX_NAME) throw tooComplex(`names of at most ${MAX_NAME} bytes`)
    const last = this.#names.length - 1
    if (last >= 0 && ++this.#names[last]! > MAX_NAMES)
      throw tooComplex(`at most ${MAX_NAMES} names in one object`)
  }

  /** Skips a string; returns where it ends, or the last octet of the chunk. */
  #skipText(piece: Uint8Array, from: number): number {
    let at = from
    if (this.#escaped) at++
    this.#escaped = false
    for (;;) {
      const quote = piece.indexOf(QUOTE, at)
      const end = quote < 0 ? piece.length : quote
      let backslashes = 0
      while (end - 1 - backslashes >= at && piece[end - 1 - backslashes] === BACKSLASH) backslashes++
      if (quote < 0) {
        this.#escaped = backslashes % 2 === 1
        this.#text += piece.length - from
        return piece.length
      }
      if (backslashes % 2 === 0) {
        this.#inText = false
        this.#text += quote - from
        return quote
      }
      at = quote + 1
    }
  }
}

const tooComplex = (expected: string) => refuse('body_too_complex', { expected })

/** A file in an attachment that was decoded before validation; has the shape of a serialized Buffer. */
export interface DecodedFile {
  type: 'Buffer'
  data: number[]
  bytes: Uint8Array
}

/** Returns the bytes of a `DecodedFile`; undefined for anything a client can send. */
export function getDecodedFile(content: unknown): Uint8Array | undefined {
  const { bytes } = (content ?? {}) as Partial<DecodedFile>
  return bytes instanceof Uint8Array ? bytes : undefined
}

/** Invalid base64 of minimal length. Refused just like the content that it replaces, without decoding that again. */
const NO_BASE64 = '?'

/**
 * Decodes the files in the attachments of an email or a batch in place, and returns their buffers. Run it in a thread:
 * a file of 30 MB takes 100 ms.
 */
export function decodeFiles(body: unknown): ArrayBuffer[] {
  const buffers: ArrayBuffer[] = []
  for (const email of Array.isArray(body) ? (body as unknown[]) : [body]) {
    const { attachments } = (email ?? {}) as { attachments?: unknown }
    if (!Array.isArray(attachments)) continue
    for (const attachment of attachments as unknown[]) {
      if (typeof attachment !== 'object' || attachment === null) continue
      const given = attachment as { content?: unknown }
      const bytes = bytesOf(given.content)
      if (bytes === undefined) continue
      if (bytes === null) given.content = NO_BASE64
      else {
        // A small buffer is part of Node's shared pool, which can't be transferred to another thread.
        const own = bytes.byteLength === bytes.buffer.byteLength ? bytes : Uint8Array.from(bytes)
        given.content = { type: 'Buffer', data: [], bytes: own } satisfies DecodedFile
        buffers.push(own.buffer as ArrayBuffer)
      }
    }
  }
  return buffers
}

/** Length of the longest text that a field accepts: `html`, `text` and `csv`. */
export const MAX_TEXT_LENGTH = 8 * 1024 * 1024

/**
 * Cuts texts longer than any field accepts to one character above the limit, so that they are still refused. Changes
 * the value in place and returns it. Run it in a thread: receiving a text of 40 MB blocks the event loop for up to 100
 * ms.
 */
export function truncateTexts(value: unknown): unknown {
  if (typeof value === 'string')
    return value.length > MAX_TEXT_LENGTH ? value.slice(0, MAX_TEXT_LENGTH + 1) : value
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value
  const fields = value as Record<string, unknown>
  for (const [name, field] of Object.entries(fields)) {
    const cut = truncateTexts(field)
    // Assigning an unchanged value would call the setter of `__proto__`.
    if (cut !== field) fields[name] = cut
  }
  return value
}

/**
 * Returns the bytes of an attachment's content; null if it is neither base64 nor bytes, undefined if there is nothing
 * to decode.
 */
function bytesOf(content: unknown): Uint8Array | null | undefined {
  if (typeof content === 'string') return content === '' ? undefined : (decodeBase64(content) ?? null)
  const { data } = (content ?? {}) as { data?: unknown }
  const numbers = Array.isArray(content) ? (content as unknown[]) : data
  if (!Array.isArray(numbers) || numbers.length === 0) return undefined
  return numbersToBytes(numbers) ?? null
}

/** Hashes the meaning of a body: equal for the same JSON value with any spacing and order of names. SHA-256 in hex. */
export function computeBodyDigest(body: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(body, sorted) ?? '')
    .digest('hex')
}

/** Sorts the names of objects; returns arrays and plain values unchanged. */
function sorted(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  // Without a prototype, so that `__proto__` is an ordinary name.
  return Object.assign(Object.create(null) as object, Object.fromEntries(entries))
}

/**
 * Decodes base64 (RFC 4648 §4, or §5 with `-_`), with or without padding and line breaks; undefined when invalid. Node
 * skips unknown characters, so invalid text is detected by its length.
 */
export function decodeBase64(text: string): Uint8Array | undefined {
  const decoded = exactly(text)
  // Rare and slow for up to 40 MB, so only when the fast way fails.
  return decoded ?? (/\s/.test(text) ? exactly(text.replaceAll(/\s+/g, '')) : undefined)
}

function exactly(text: string): Uint8Array | undefined {
  const characters = text.endsWith('==')
    ? text.length - 2
    : text.endsWith('=')
      ? text.length - 1
      : text.length
  if (characters % 4 === 1) return undefined
  const decoded = Buffer.from(text, 'base64')
  return decoded.length === Math.floor((characters * 3) / 4) ? decoded : undefined
}

/** Converts an array of numbers to bytes; undefined when one is out of range. */
export function numbersToBytes(numbers: readonly unknown[]): Uint8Array | undefined {
  const isByte = (value: unknown) => typeof value === 'number' && value >= 0 && value <= 255
  return numbers.every(isByte) ? Uint8Array.from(numbers as number[]) : undefined
}
