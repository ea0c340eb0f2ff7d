/**
 * Encodes non-ASCII header fields as encoded words (RFC 2047) and parameters (RFC 2231), so that a message submitted
 * with raw UTF-8 in its Subject, a name or a filename can go to every server. Must run before signing. Pure.
 */
import { isAscii } from 'node:buffer'
import { HEADER_LINE_LENGTH, type HeaderField, splitMessage } from '../mail/headers.ts'
import { encodeParameters } from './encode-parameters.ts'
import {
  createSearchBudget,
  isSignedOrEncrypted,
  type SearchBudget,
  splitMultipart,
  parseContentType,
  getFieldValues,
} from './entity.ts'

/** Maximum octets of text in one encoded word, which may have at most 75 octets in total (RFC 2047 §2). */
const WORD = 42
/** Octets around the text: `=?unknown-8bit?B?` and `?=`. */
const FRAME = 19
/** Minimum octets of text that must fit on the current line. With less space, the first word goes on the next line. */
const LEAST = 12
/** Maximum nesting, and maximum number of parts whose headers are encoded. Real messages have a tenth of that. */
const MAX_DEPTH = 20
const MAX_PARTS = 1000

/**
 * Fields with phrases before angle brackets (RFC 2047 §5 (3)), fields with parameters (RFC 2231), and other structured
 * fields that can't have encoded words (RFC 5322, RFC 2045). All others are unstructured text.
 */
const PHRASES =
  /^(?:(?:resent-)?(?:from|sender|reply-to|to|cc|bcc)|disposition-notification-to|keywords|list-id)$/i
const WITH_PARAMETERS = /^content-(?:type|disposition)$/i
const STRUCTURED =
  /^(?:content-(?!description$).*|mime-version|(?:resent-)?(?:message-id|date)|in-reply-to|references|received|return-path|dkim-signature|arc-.*|authentication-results|list-.*)$/i

/**
 * Encodes the headers of a message and its parts in ASCII, where encoding alone is enough. A header with a non-ASCII
 * address stays unchanged: the message needs SMTPUTF8 anyway (RFC 6531). Returns the same buffer when everything is
 * ASCII.
 */
export function encodeHeader(message: Buffer): Buffer {
  if (isAscii(message)) return message
  const walk: Walk = { message, parts: 0, budget: createSearchBudget(message.length), edits: [] }
  if (!encodeEntity(walk, 0, message.length, 0) || walk.edits.length === 0) return message
  const pieces: Uint8Array[] = []
  let at = 0
  for (const { start, end, bytes } of walk.edits) {
    pieces.push(message.subarray(at, start), bytes)
    at = end
  }
  return Buffer.concat([...pieces, message.subarray(at)])
}

interface Walk {
  message: Buffer
  parts: number
  budget: SearchBudget
  edits: { start: number; end: number; bytes: Buffer }[]
}

/** Encodes the header of the entity between two offsets; returns whether it is ASCII now. */
function encodeEntity(walk: Walk, start: number, end: number, depth: number): boolean {
  const { message, edits } = walk
  if (depth > MAX_DEPTH || ++walk.parts > MAX_PARTS) return false
  const { fields, bodyOffset } = splitMessage(message.subarray(start, end))
  const length = fields.reduce((sum, { raw }) => sum + raw.length, 0)
  if (!isAscii(message.subarray(start, start + length))) {
    const bytes = Buffer.concat(fields.map(encodeField))
    if (!isAscii(bytes)) return false
    edits.push({ start, end: start + length, bytes })
  }
  const [value, ...more] = getFieldValues(fields, 'content-type')
  const { type, parameters } = parseContentType(value ?? '')
  const boundary = parameters.get('boundary')
  if (more.length > 0 || !type.startsWith('multipart/') || isSignedOrEncrypted(type) || !boundary) return true
  for (const [from, to] of splitMultipart(message, [start + bodyOffset, end], boundary, {
    ...walk,
    most: MAX_PARTS,
  }).parts)
    if (!isAscii(message.subarray(from, to))) encodeEntity(walk, from, to, depth + 1)
  return true
}

/** The charset of non-ASCII text. Text that isn't UTF-8 is labeled as unknown (RFC 1428). */
type Charset = 'utf-8' | 'unknown-8bit'

/** Encodes a field in ASCII, complete with its CRLF; returns it unchanged when it can't be encoded. */
export function encodeField({ name, raw }: HeaderField): Uint8Array {
  if (isAscii(raw)) return raw
  const charset = charsetOf(raw)
  if (WITH_PARAMETERS.test(name)) {
    const octets = Buffer.from(raw).toString('latin1')
    return Buffer.from(`${encodeParameters(octets.slice(0, endOfWords(octets)), charset)}\r\n`, 'latin1')
  }
  if (STRUCTURED.test(name) && !PHRASES.test(name)) return raw
  const text = Buffer.from(raw).toString(charset === 'utf-8' ? 'utf8' : 'latin1')
  const colon = text.indexOf(':') + 1
  const space = /^[ \t]*/.exec(text.slice(colon))![0]
  const start = text.slice(0, colon) + (space === '' ? ' ' : space)
  const value = text.slice(colon + space.length, endOfWords(text))
  const words = PHRASES.test(name) ? addressWords(value) : plainWords(value)
  return Buffer.from(`${join(words, start, charset)}\r\n`, charset === 'utf-8' ? 'utf8' : 'latin1')
}

/**
 * Finds where trailing white space begins. If it were folded after an encoded word, it would form a line that looks
 * like the end of the header.
 */
function endOfWords(text: string): number {
  let end = text.length
  while (/[ \t\r\n]/.test(text.charAt(end - 1))) end--
  return end
}

function charsetOf(raw: Uint8Array): Charset {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(raw)
    return 'utf-8'
  } catch {
    // The fallback for 8-bit text of unknown charset (RFC 1428).
    return 'unknown-8bit'
  }
}

/** A piece of a field's value, as written. */
interface Piece {
  raw: string
  /** The text to encode when `raw` isn't ASCII; null when it can't be encoded. */
  text: string | null
  space: boolean
}

const isPlain = (text: string): boolean => !/[^\0-\x7f]/.test(text)
const isSpace = (raw: string): boolean => /^[ \t\r\n]+$/.test(raw)

/** Splits unstructured text into words and white space. */
function plainWords(value: string): Piece[] {
  const parts = value.match(/[ \t\r\n]+|[^ \t\r\n]+/g) ?? []
  return parts.map((raw) => ({ raw, text: raw, space: isSpace(raw) }))
}

/**
 * A quoted string, a comment without nested ones, angle brackets, a separator, white space, or a word (RFC 5322 §3.2,
 * §3.4). An unterminated quote extends to the end, so that nothing is scanned twice.
 */
const TOKEN = /"(?:[^"\\]|\\[^])*(?:"|$)|\([^()\\]*\)|<[^<>]*>|[,:;]|[ \t\r\n]+|[^ \t\r\n"()<,:;]+|[^]/g

/**
 * Splits an address list into pieces. Words of phrases, which end at an angle bracket or a group's colon, can be
 * encoded.
 */
function addressWords(value: string): Piece[] {
  let inPhrase = false
  const tokens: string[] = value.match(TOKEN) ?? []
  if (tokens.includes('(') || tokens.includes(')')) return [fixed(value)]
  const pieces = tokens.toReversed().map((raw): Piece[] => {
    if (raw.startsWith('(') && raw.endsWith(')'))
      return [fixed('('), ...plainWords(raw.slice(1, -1)), fixed(')')]
    if (/^[<,:;]/.test(raw)) {
      inPhrase = raw.startsWith('<') || raw === ':'
      return [fixed(raw)]
    }
    return [{ raw, text: inPhrase || isSpace(raw) ? unquoted(raw) : null, space: isSpace(raw) }]
  })
  return pieces.toReversed().flat()
}

const fixed = (raw: string): Piece => ({ raw, text: null, space: false })

function unquoted(raw: string): string | null {
  if (!raw.startsWith('"')) return raw
  return raw.length > 1 && raw.endsWith('"') ? raw.slice(1, -1).replaceAll(/\\([^])/g, '$1') : null
}

/** Writes the pieces in order and encodes each run of non-ASCII words. */
function join(pieces: readonly Piece[], start: string, charset: Charset): string {
  const paper = new Paper(start)
  for (let at = 0; at < pieces.length;) {
    const end = endOfRun(pieces, at)
    const run = pieces.slice(at, end)
    if (run.length === 0) paper.write(pieces[at++]!.raw)
    else {
      const text = spaceBefore(pieces, at) + run.map(textOf).join('') + spaceAfter(pieces, end)
      paper.writeEncoded(toEncodedWords(text, charset, HEADER_LINE_LENGTH - paper.column - FRAME))
      at = end
      const next = pieces[at]
      // Start a new line, because lines with an encoded word are limited to 76 octets (RFC 2047 §2).
      if (next?.space && !next.raw.includes('\r\n')) paper.write('\r\n')
    }
  }
  return paper.text
}

const textOf = ({ space, raw, text }: Piece): string => (space ? raw.replaceAll('\r\n', '') : text!)

const ENCODED_WORD = /^=\?[^? \t]+\?[bq]\?[^? \t]*\?=$/i

/**
 * Returns white space to include in an encoded word. White space between two encoded words isn't displayed (RFC 2047
 * §6.2), so that the space between an existing word and ours must be encoded.
 */
function spaceBefore(pieces: readonly Piece[], at: number): string {
  const [word, space] = [pieces[at - 2], pieces[at - 1]]
  return word && space?.space && ENCODED_WORD.test(word.raw) ? textOf(space) : ''
}

function spaceAfter(pieces: readonly Piece[], end: number): string {
  const [space, word] = [pieces[end], pieces[end + 1]]
  return word && space?.space && ENCODED_WORD.test(word.raw) ? textOf(space) : ''
}

/** Writes a field line by line. */
class Paper {
  #lines = ''
  #line = ''
  #column = 0

  constructor(start: string) {
    this.write(start)
  }

  get text(): string {
    return this.#lines + this.#line
  }

  /** Octets on the last line. */
  get column(): number {
    return this.#column
  }

  write(text: string): void {
    const end = text.lastIndexOf('\n') + 1
    if (end > 0) {
      this.#lines += this.#line + text.slice(0, end)
      this.#line = ''
      this.#column = 0
    }
    this.#line += text.slice(end)
    this.#column += Buffer.byteLength(text.slice(end))
  }

  /**
   * Writes the first word on the current line unless it is empty, and each of the other words on its own line. White
   * space between encoded words isn't displayed (RFC 2047 §6.2).
   */
  writeEncoded([first = '', ...others]: string[]): void {
    this.write(first)
    for (const word of others) {
      const text = this.#line.replace(/[ \t]+$/, '')
      const space = this.#line.slice(text.length)
      // Fold at white space before the word when there is some.
      this.#line = text
      this.write(`\r\n${space === '' ? ' ' : space}${word}`)
    }
  }
}

/** Finds the end of the run of non-ASCII words that begins at `at`; returns `at` when none does. */
function endOfRun(pieces: readonly Piece[], at: number): number {
  const isBeyond = ({ raw, text }: Piece): boolean => text !== null && !isPlain(raw)
  let end = at
  for (let next = at; next < pieces.length; next++) {
    const piece = pieces[next]!
    if (isBeyond(piece)) end = next + 1
    else if (!piece.space || next === at) break
  }
  return end
}

/**
 * Splits text into encoded words of whole characters (RFC 2047 §5), the first with at most `room` octets of base64; it
 * is empty when that is too few.
 */
export function toEncodedWords(text: string, charset: Charset, room: number): string[] {
  const first = Math.min(WORD, Math.floor(room / 4) * 3)
  const words: string[] = []
  let taken: string[] = []
  let size = 0
  let most = first
  const flush = () => {
    const bytes = Buffer.from(taken.join(''), charset === 'utf-8' ? 'utf8' : 'latin1')
    words.push(taken.length === 0 ? '' : `=?${charset}?B?${bytes.toString('base64')}?=`)
    ;[taken, size, most] = [[], 0, WORD]
  }
  if (first < LEAST) flush()
  for (const character of text) {
    const octets = charset === 'utf-8' ? Buffer.byteLength(character) : 1
    if (size + octets > most) flush()
    taken.push(character)
    size += octets
  }
  if (taken.length > 0) flush()
  return words
}
