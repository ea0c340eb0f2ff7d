/**
 * Header fields (RFC 5322 §2.2): checks which fields a caller may set and what they may contain, and finds them in a
 * message.
 */

/** Maximum length of a field name; the longest registered one has 35 characters. */
export const MAX_FIELD_NAME = 76
/** Maximum length of a value in UTF-16 units. Postfix truncates header fields at 100 KB, other servers much earlier. */
const MAX_FIELD_VALUE = 8192
/** Maximum header size in octets; receivers accept less. */
export const MAX_HEADER = 256 * 1024
/** Maximum number of fields that a caller may add. */
export const MAX_CUSTOM_FIELDS = 100
/**
 * Maximum length of a word; a longer one can't be folded into a line of 998 octets with the field name (RFC 5322
 * §2.1.1).
 */
const MAX_WORD = 900

/** How a reserved field in `headers` is handled: the request is refused, or the field is dropped. */
type Fate = 'refused' | 'dropped'

/**
 * Fields that a caller may not set in `headers`, and why. Patterns end with `*`.
 * Mail frameworks pass along the fields that they would have written themselves. Those that the server writes anyway
 * are dropped. The others are refused, because without them the mail would go to other people or say something else.
 * Everything else is kept: X-*, List-*, Feedback-ID, Auto-Submitted, Precedence, Importance, ... A well-formed
 * Message-ID replaces ours; Reply-To is read as the `reply_to` field (intake/request.ts).
 */
const RESERVED_FIELDS: readonly (readonly [field: string, fate: Fate, reason: string])[] = [
  // The server writes these from the request's fields.
  ['From', 'refused', 'use the `from` field'],
  ['To', 'refused', 'use the `to` field'],
  ['Cc', 'refused', 'use the `cc` field'],
  ['Bcc', 'refused', 'use the `bcc` field'],
  ['Subject', 'refused', 'use the `subject` field'],
  // These would name another sender, whose permission to send wasn't checked.
  ['Sender', 'dropped', 'the server sets it'],
  ['X-Posthaste-Topic', 'refused', 'use the `topic_id` field'],
  // These describe the body, which the server composes.
  ['MIME-Version', 'dropped', 'the server sets it'],
  ['Content-*', 'dropped', 'the server sets it'],
  // Only servers may set these: when and how the message traveled, who signed it, where reports go.
  ['Date', 'dropped', 'the server sets it'],
  ['Return-Path', 'dropped', 'receiving servers set it'],
  ['DKIM-Signature', 'dropped', 'the server signs'],
  ['Received', 'refused', 'the server sets it'],
  ['Received-SPF', 'refused', 'receiving servers set it'],
  ['Delivered-To', 'refused', 'receiving servers set it'],
  ['DomainKey-Signature', 'refused', 'the server signs'],
  ['ARC-*', 'refused', 'the server signs'],
  ['Authentication-Results', 'refused', 'receiving servers set it'],
  ['Resent-*', 'refused', 'it is reserved for resent messages (RFC 5322 §3.6.6)'],
]

const reserved = RESERVED_FIELDS.map(([field, fate, reason]) => ({
  field: field.toLowerCase(),
  fate,
  reason,
}))

function reservation(name: string): (typeof reserved)[number] | undefined {
  const lower = name.toLowerCase()
  return reserved.find(({ field }) =>
    field.endsWith('*') ? lower.startsWith(field.slice(0, -1)) : lower === field,
  )
}

/** Returns why a caller may not set this field, as a clause for the refusal; undefined when it may. */
export function explainReservedField(name: string): string | undefined {
  return reservation(name)?.reason
}

/** Whether a field in `headers` is silently dropped. */
export function isDroppedField(name: string): boolean {
  return isFieldName(name) && reservation(name)?.fate === 'dropped'
}

/** Unfolds a field's value to one line (RFC 5322 §2.2.3). Keeps a line break that isn't followed by white space. */
export function unfold(value: string): string {
  return value.replaceAll(/\r\n(?=[ \t])/g, '')
}

/**
 * Fields that may occur only once in a message or part (RFC 5322 §3.6, RFC 2045 §3, RFC 2183), because mail clients
 * differ in which one they use.
 */
const SINGLE_FIELDS = new Map(
  [
    'Date',
    'From',
    'Sender',
    'Reply-To',
    'To',
    'Cc',
    'Bcc',
    'Message-ID',
    'In-Reply-To',
    'References',
    'Subject',
    'MIME-Version',
    'Content-Type',
    'Content-Transfer-Encoding',
    'Content-ID',
    'Content-Description',
    'Content-Disposition',
  ].map((name) => [name.toLowerCase(), name]),
)

/** Returns the first field that occurs too often, and how often; undefined when there is none. */
export function findRepeatedField(names: readonly string[]): { field: string; count: number } | undefined {
  const seen = new Set<string>()
  for (const name of names.map((one) => one.toLowerCase())) {
    const field = SINGLE_FIELDS.get(name)
    if (field !== undefined && seen.has(name))
      return { field, count: names.filter((one) => one.toLowerCase() === name).length }
    seen.add(name)
  }
  return undefined
}

/** Whether a name is a valid `ftext`: printable ASCII except the colon (RFC 5322 §3.6.8). */
export function isFieldName(name: string): boolean {
  return name.length <= MAX_FIELD_NAME && /^[!-9;-~]+$/.test(name)
}

/** Returns what is wrong with a field's value, as a clause for the refusal; undefined when it is valid. */
export function findFieldValueProblem(value: string): string | undefined {
  if (/[\r\n\0]/.test(value)) return 'it must not contain line breaks or NUL'
  // Tab is white space in a field. Other control characters aren't allowed.
  if (/[^\P{Cc}\t]|\p{Cs}/u.test(value)) return 'it must not contain control characters'
  if (value.length > MAX_FIELD_VALUE) return `it must have at most ${MAX_FIELD_VALUE} characters`
  if (longWord.test(value)) return `it must not contain a word of more than ${MAX_WORD} characters`
  return undefined
}
const longWord = new RegExp(`[^ \\t]{${MAX_WORD + 1}}`)

/** Whether a text is a `msg-id` (RFC 5322 §3.6.4), without the obsolete forms. */
export function isMessageId(text: string): boolean {
  return text.length <= 320 && /^<[\w!#$%&'*+\-/=?^`{|}~.]+@[\w\-.[\]:]+>$/.test(text)
}

/** A field in a message. */
export interface HeaderField {
  name: string
  /** The whole field with name, folding and final CRLF, as it is signed. */
  raw: Uint8Array
  /** The result of `getUnfoldedValue`, once it was called. */
  unfolded?: string
}

/** The fields of a message, in order, and where the body begins. */
export interface MessageParts {
  fields: HeaderField[]
  /** Offset of the body; the length of the message when there is none. */
  bodyOffset: number
}

const CR = 13
const LF = 10

/**
 * Finds the header fields and the body of a message with CRLF line ends (RFC 5322 §2.1). A line that isn't a field ends
 * the header, as with other servers. Copies nothing.
 * @param most stops after one more field than this, and returns the offset reached
 */
export function splitMessage(message: Uint8Array, most = Infinity): MessageParts {
  const fields: HeaderField[] = []
  let at = 0
  while (at < message.length && fields.length <= most) {
    if (message[at] === CR && message[at + 1] === LF) return { fields, bodyOffset: at + 2 }
    const end = endOfField(message, at)
    const raw = message.subarray(at, end)
    const colon = raw.indexOf(58)
    const name =
      colon < 1 ? '' : Buffer.from(message.buffer, message.byteOffset + at, colon).toString('latin1')
    // Obsolete syntax allows white space before the colon (RFC 5322 §4.5.3).
    if (!isFieldName(name.trimEnd())) return { fields, bodyOffset: at }
    fields.push({ name: name.trimEnd(), raw })
    at = end
  }
  return { fields, bodyOffset: message.length }
}

/** Whether the header that ends at `end` is followed by a blank line. */
export function endsWithBlankLine(message: Uint8Array, end: number): boolean {
  const isCrlf = (at: number) => message[at] === CR && message[at + 1] === LF
  return isCrlf(end - 2) && (end === 2 || isCrlf(end - 4))
}

/**
 * Finds the end of the field that begins at `start`: after the first CRLF that isn't followed by white space (RFC 5322
 * §2.2.3).
 */
function endOfField(message: Uint8Array, start: number): number {
  let at = start
  for (;;) {
    const lf = message.indexOf(LF, at)
    if (lf < 0) return message.length
    at = lf + 1
    const next = message[at]
    if (message[lf - 1] === CR && next !== 32 && next !== 9) return at
  }
}

/** Returns a field's value on one line, without name, folding and surrounding white space. */
export function getUnfoldedValue(field: HeaderField): string {
  // Several readers need the same values of each message, and decoding is most of the cost.
  return (field.unfolded ??= unfoldRaw(field.raw))
}

function unfoldRaw({ buffer, byteOffset, length }: Uint8Array): string {
  const text = Buffer.from(buffer, byteOffset, length).toString('utf8')
  const value = text.slice(text.indexOf(':') + 1).trim()
  return value.includes('\n') ? unfold(value) : value
}

/** Length at which header lines are folded (RFC 2047 §2; RFC 5322 §2.1.1 recommends at most 78). */
export const HEADER_LINE_LENGTH = 76

/**
 * Appends tokens to a field. A token that doesn't fit starts a new line, with its own white space or with a space (RFC
 * 5322 §2.2.3).
 */
export function foldTokens(start: string, tokens: readonly string[]): string {
  let text = start
  let column = start.length - (start.lastIndexOf('\n') + 1)
  for (const token of tokens) {
    const fits = column + token.length <= HEADER_LINE_LENGTH
    const piece = fits || /^[ \t]/.test(token) ? token : ` ${token}`
    text += fits ? piece : `\r\n${piece}`
    column = fits ? column + piece.length : piece.length
  }
  return text
}

/**
 * Formats a field without its CRLF. Folds before white space that is followed by a word, so that no line is blank.
 * Words stay whole, and the first stays on the line of the name.
 */
export function foldField(name: string, value: string): string {
  const line = `${name}: ${value}`
  if (line.length <= HEADER_LINE_LENGTH) return line
  const [start = '', first = '', ...words] = line.split(/(?<=[^ \t])(?=[ \t]+[^ \t])/)
  return foldTokens(start + first, words)
}
