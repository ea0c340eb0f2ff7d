/**
 * Reads the parts of a message as mail programs usually write it (MIME, RFC 2045 and 2046): texts and attachments,
 * decoded. Supports a small, strict subset and returns undefined for anything else, which the parser then reads. Both
 * give the same result. Pure.
 */
import { createHash } from 'node:crypto'
import { decodeQuotedPrintable } from './transfer.ts'

/** The content of a message's parts. */
export interface PartsContent {
  html: string | null
  text: string | null
  attachments: Attachment[]
}

/** A part shown as a file. */
export interface Attachment {
  filename: string | null
  contentType: string
  contentId: string | null
  disposition: 'attachment' | 'inline'
  size: number
  /** SHA-256 of the content, hex. */
  digest: string
}

/** The fields that determine how a body is read: unfolded values by name in lower case. */
export type ContentFields = ReadonlyMap<string, string>

export const CONTENT_FIELDS: readonly string[] = [
  'content-type',
  'content-transfer-encoding',
  'content-disposition',
  'content-id',
]

/** Maximum nesting; the parser handles deeper parts. */
const MAX_DEPTH = 8
/** Maximum size of a part's header, in octets. */
const MAX_PART_HEADER = 16 * 1024

/** Alternative forms of the same text: the parts of one multipart/alternative, or a single part. */
type Texts = Partial<Record<'html' | 'text', string[]>>

interface Found {
  texts: Texts[]
  attachments: PartsContent['attachments']
  /** Whether to decode texts and compute digests of attachments. */
  whole: boolean
}

/**
 * Reads the parts of a message.
 * @param body everything after the header, in latin1 with LF line ends
 * @returns undefined when something is unusual
 */
export function parseParts(fields: ContentFields, body: string): PartsContent | undefined {
  const found = findParts(fields, body, true)
  if (!found) return undefined
  const html = joined(found.texts, 'html')
  const text = joined(found.texts, 'text')
  return html === undefined || text === undefined ? undefined : { html, text, attachments: found.attachments }
}

/**
 * Reads the attachments only, without digests and without decoding texts.
 * @param body as for `parseParts`
 */
export function parseAttachments(
  fields: ContentFields,
  body: string,
): Omit<Attachment, 'digest'>[] | undefined {
  const found = findParts(fields, body, false)
  return found && !mustConvert(found.texts, 'html') && !mustConvert(found.texts, 'text')
    ? found.attachments
    : undefined
}

function findParts(fields: ContentFields, body: string, whole: boolean): Found | undefined {
  const found: Found = { texts: [], attachments: [], whole }
  const lines = body.endsWith('\n') ? body : `${body}\n`
  return readEntity(fields, lines, { found, boundaries: [], alternative: null }) ? found : undefined
}

/** Whether one text lacks this form and another has it, so that the parser would have to convert it. */
const mustConvert = (texts: readonly Texts[], form: keyof Texts): boolean =>
  texts.some((one) => one[form]) && !texts.every((one) => one[form])

/** Joins the texts of one form. Undefined when a text would have to be converted. */
function joined(texts: readonly Texts[], form: keyof Texts): string | null | undefined {
  if (mustConvert(texts, form)) return undefined
  const text = texts.flatMap((one) => one[form] ?? []).join('\n')
  return text === '' ? null : text
}

interface Place {
  found: Found
  /** The boundaries of all enclosing multiparts. */
  boundaries: readonly string[]
  /** The innermost enclosing multipart/alternative. */
  alternative: Texts | null
}

/** Reads a part, or the whole message; false when something is unusual. */
function readEntity(fields: ContentFields, body: string, place: Place): boolean {
  const type = readType(fields.get('content-type') ?? 'text/plain')
  if (!type) return false
  if (type.boundary !== null) return readMultipart(type.name, type.boundary, body, place)
  const disposition = readDisposition(fields.get('content-disposition') ?? '')
  if (!disposition) return false
  const isText =
    (type.name === 'text/html' || type.name === 'text/plain') && disposition.kind !== 'attachment'
  if (isText && !place.found.whole) {
    textsOf(type, place)
    return true
  }
  const content = decodeBody(fields.get('content-transfer-encoding') ?? '8bit', body)
  if (!content) return false
  if (isText) return readText(type, content, place)
  const id = fields.get('content-id') ?? ''
  if (!/^[ -~]*$/.test(id)) return false
  place.found.attachments.push({
    filename: (disposition.filename ?? type.filename)?.slice(0, 255) ?? null,
    contentType: type.name,
    contentId: id === '' ? null : id.replaceAll(/^<|>$/g, ''),
    disposition: id === '' ? 'attachment' : 'inline',
    size: content.length,
    digest: place.found.whole ? createHash('sha256').update(content).digest('hex') : '',
  })
  return true
}

function readText(type: Type, content: Buffer, place: Place): boolean {
  // The parser may know a charset other than UTF-8. ASCII is common to all of them.
  if (type.charset !== null && type.charset !== 'utf-8' && !isAsciiText(type.charset, content)) return false
  textsOf(type, place).push(utf8.decode(content).replaceAll('\0', ''))
  return true
}

/** Returns the list that text of this type goes into. */
function textsOf(type: Type, { found, alternative }: Place): string[] {
  const form = type.name === 'text/html' ? 'html' : 'text'
  const texts: Texts = alternative ?? {}
  if (!found.texts.includes(texts)) found.texts.push(texts)
  return (texts[form] ??= [])
}

const utf8 = new TextDecoder('utf-8')

function isAsciiText(charset: string, content: Buffer): boolean {
  return /^(?:us-ascii|iso-8859-1)$/.test(charset) && !/[^\0-\x7f]/.test(content.toString('latin1'))
}

/** Reads the content between delimiters (RFC 2046 §5.1). The preamble and epilogue are ignored. */
function readMultipart(name: string, boundary: string, body: string, place: Place): boolean {
  const { found, boundaries } = place
  if (boundaries.length >= MAX_DEPTH || boundaries.some((outer) => canBeTaken(boundary, outer))) return false
  const alternative: Texts | null = name === 'multipart/alternative' ? {} : place.alternative
  const inside: Place = { found, boundaries: [...boundaries, boundary], alternative }
  const parts = splitParts(boundary, body)
  return parts?.every((part) => readPart(part, inside)) ?? false
}

/** Whether a delimiter of one boundary can be mistaken for one of the other. */
function canBeTaken(one: string, other: string): boolean {
  const [short, long] = one.length < other.length ? [one, other] : [other, one]
  return long.startsWith(short) && /^(?:--)?[ \t]*$/.test(long.slice(short.length))
}

/** Splits a body into parts; undefined without a closing delimiter. */
function splitParts(boundary: string, body: string): string[] | undefined {
  const delimiter = `--${boundary}`
  const parts: string[] = []
  let start = -1
  for (let at = lineWith(delimiter, body, 0); at >= 0;) {
    const end = body.indexOf('\n', at)
    const rest = body.slice(at + delimiter.length, end).replace(/[ \t]+$/, '')
    if (rest === '' || rest === '--') {
      if (start >= 0) parts.push(body.slice(start, at))
      start = end + 1
      if (rest === '--') return parts.length > 0 ? parts : undefined
    }
    at = lineWith(delimiter, body, end)
  }
  return undefined
}

/** Finds a line that starts with `start`, at `from` or later; -1 when there is none. */
function lineWith(start: string, body: string, from: number): number {
  if (from === 0 && body.startsWith(start)) return 0
  const at = body.indexOf(`\n${start}`, from)
  return at < 0 ? -1 : at + 1
}

function readPart(part: string, place: Place): boolean {
  if (part.startsWith('\n')) return readEntity(new Map(), part.slice(1), place)
  const end = part.indexOf('\n\n')
  const fields = end < 0 || end > MAX_PART_HEADER ? undefined : readFields(part.slice(0, end))
  return fields !== undefined && readEntity(fields, part.slice(end + 2), place)
}

/**
 * Parses the content fields of a part's header. Undefined when it isn't plain ASCII, is malformed, or has a field
 * twice.
 */
function readFields(header: string): ContentFields | undefined {
  if (!/^[\t\n -~]*$/.test(header)) return undefined
  const fields = new Map<string, string>()
  for (const line of header.replaceAll(/\n(?=[ \t])/g, '').split('\n')) {
    const colon = line.indexOf(':')
    const name = line.slice(0, Math.max(0, colon)).toLowerCase()
    if (!/^[!-9;-~]+$/.test(name)) return undefined
    if (!CONTENT_FIELDS.includes(name)) continue
    if (fields.has(name)) return undefined
    fields.set(name, line.slice(colon + 1).trim())
  }
  return fields
}

interface Type {
  /** Content type such as `text/plain`, in lower case. */
  name: string
  /** The boundary of a multipart; null for other types. */
  boundary: string | null
  /** The charset in lower case. */
  charset: string | null
  filename: string | null
}

/** Types that the parser handles specially. */
const SPECIAL = /^(?:message\/.*|text\/calendar|application\/ics)$/
const MULTIPART = /^multipart\/(?:alternative|mixed|related)$/

/** Parses Content-Type (RFC 2045 §5.1), without comments. */
function readType(value: string): Type | undefined {
  const read = readParameters(value)
  if (!read || !/^[a-z]+\/[\w.+-]+$/.test(read.name) || SPECIAL.test(read.name)) return undefined
  const { name, parameters } = read
  const parameter = (one: string): string | null => parameters.get(one) ?? null
  const type: Type = {
    name,
    boundary: parameter('boundary'),
    charset: parameter('charset')?.toLowerCase() ?? null,
    filename: parameter('name'),
  }
  const multipart = name.startsWith('multipart/')
  if (multipart !== (type.boundary !== null) || (multipart && !MULTIPART.test(name))) return undefined
  // `format` changes how text is read (RFC 3676). `type` and `start` of a multipart change nothing.
  return multipart || !parameters.has('format') ? type : undefined
}

/** Parses Content-Disposition (RFC 2183 §2). */
function readDisposition(value: string): { kind: string; filename: string | null } | undefined {
  if (value === '') return { kind: '', filename: null }
  const read = readParameters(value)
  if (!read || !/^(?:attachment|inline)$/.test(read.name)) return undefined
  return { kind: read.name, filename: read.parameters.get('filename') ?? null }
}

/** A token, or a quoted string without escapes, encoded words or sections (RFC 2047, RFC 2231). */
const PARAMETER = /^[ \t]*([a-z-]+)=(?:([\w.+:/=-]+)|"([^"\\]+)")[ \t]*$/i

function readParameters(value: string): { name: string; parameters: Map<string, string> } | undefined {
  if (!/^[\t -~]*$/.test(value) || /[()\\]|=\?/.test(value)) return undefined
  const [name = '', ...rest] = value.split(';')
  const parameters = new Map<string, string>()
  for (const one of rest) {
    const match = PARAMETER.exec(one)
    const [, key = '', token, quoted] = match ?? []
    const text = token ?? quoted
    if (text === undefined || parameters.has(key.toLowerCase())) return undefined
    parameters.set(key.toLowerCase(), text)
  }
  return { name: name.trim().toLowerCase(), parameters }
}

/** Decodes a body (RFC 2045 §6); undefined when it is malformed. */
function decodeBody(encoding: string, body: string): Buffer | undefined {
  switch (encoding.toLowerCase()) {
    case '7bit':
    case '8bit':
    case 'binary':
      return Buffer.from(body, 'latin1')
    case 'quoted-printable':
      return decodeQuotedPrintable(body)
    case 'base64': {
      const digits = body.replaceAll('\n', '')
      const sound = digits.length % 4 === 0 && /^[A-Za-z\d+/]*={0,2}$/.test(digits)
      return sound ? Buffer.from(digits, 'base64') : undefined
    }
    default:
      return undefined
  }
}
