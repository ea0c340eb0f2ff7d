/**
 * The parts of a message as mail programs write it (MIME, RFC 2045 and 2046): texts and attachments, decoded. Understands a small, strict
 * part of the language, and says so where a message is written in any other way: then the parser reads it. What both read is the same. Pure.
 */
import { createHash } from 'node:crypto'
import { decodeQuoted } from './transfer.ts'

/** What the parts of a message hold. */
export interface PartsContent {
  html: string | null
  text: string | null
  attachments: Attachment[]
}

/** A part that is shown as a file. */
export interface Attachment {
  filename: string | null
  contentType: string
  contentId: string | null
  disposition: 'attachment' | 'inline'
  size: number
  /** SHA-256 of the content, hex. */
  digest: string
}

/** The fields that say how a body is to be read: their values, unfolded, by name in lower case. */
export type ContentFields = ReadonlyMap<string, string>

export const CONTENT_FIELDS: readonly string[] = [
  'content-type',
  'content-transfer-encoding',
  'content-disposition',
  'content-id',
]

/** Parts within parts; the parser knows what to do with deeper ones. */
const MAX_DEPTH = 8
/** Octets of a part's header. */
const MAX_PART_HEADER = 16 * 1024

/** Texts that stand for each other: the parts of one multipart/alternative, or one part alone. */
type Texts = Partial<Record<'html' | 'text', string[]>>

interface Found {
  texts: Texts[]
  attachments: PartsContent['attachments']
  /** Whether texts are decoded, and attachments told apart by digests. */
  whole: boolean
}

/**
 * @param body all after the header, an octet for each character, each line ended by LF
 * @returns undefined where anything is not as expected
 */
export function readParts(fields: ContentFields, body: string): PartsContent | undefined {
  const found = findParts(fields, body, true)
  if (!found) return undefined
  const html = joined(found.texts, 'html')
  const text = joined(found.texts, 'text')
  return html === undefined || text === undefined ? undefined : { html, text, attachments: found.attachments }
}

/**
 * The attachments alone, without digests: texts are not decoded.
 * @param body as of `readParts`
 */
export function readAttachments(
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

/** Whether one text has no such form while another has: the parser converts it. */
const mustConvert = (texts: readonly Texts[], form: keyof Texts): boolean =>
  texts.some((one) => one[form]) && !texts.every((one) => one[form])

/** Undefined where a text would have to be converted. */
function joined(texts: readonly Texts[], form: keyof Texts): string | null | undefined {
  if (mustConvert(texts, form)) return undefined
  const text = texts.flatMap((one) => one[form] ?? []).join('\n')
  return text === '' ? null : text
}

interface Place {
  found: Found
  /** Of all multiparts around it. */
  boundaries: readonly string[]
  /** The closest multipart/alternative around it. */
  alternative: Texts | null
}

/** Reads a part, or the message as a whole; false where it is not as expected. */
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
  // What is no UTF-8 the parser may know; ASCII is all that other charsets have in common with it.
  if (type.charset !== null && type.charset !== 'utf-8' && !isAsciiText(type.charset, content)) return false
  textsOf(type, place).push(utf8.decode(content).replaceAll('\0', ''))
  return true
}

/** The list that a text of this type belongs into. */
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

/** RFC 2046 §5.1: what lies between the delimiters. What is before the first and after the last belongs to nobody. */
function readMultipart(name: string, boundary: string, body: string, place: Place): boolean {
  const { found, boundaries } = place
  if (boundaries.length >= MAX_DEPTH || boundaries.some((outer) => canBeTaken(boundary, outer))) return false
  const alternative: Texts | null = name === 'multipart/alternative' ? {} : place.alternative
  const inside: Place = { found, boundaries: [...boundaries, boundary], alternative }
  const parts = splitParts(boundary, body)
  return parts?.every((part) => readPart(part, inside)) ?? false
}

/** Whether a delimiter made of one of the two can be read as one of the other. */
function canBeTaken(one: string, other: string): boolean {
  const [short, long] = one.length < other.length ? [one, other] : [other, one]
  return long.startsWith(short) && /^(?:--)?[ \t]*$/.test(long.slice(short.length))
}

/** Undefined without a closing delimiter. */
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

/** Where a line begins like this, from `from` on; -1: nowhere. */
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

/** The content fields of a part's header; undefined for one that is not plain ASCII, not made of fields, or says something twice. */
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
  /** `text/plain`, in lower case. */
  name: string
  /** Of a multipart; null for everything else. */
  boundary: string | null
  /** In lower case. */
  charset: string | null
  filename: string | null
}

/** Kinds that the parser treats in ways of its own. */
const SPECIAL = /^(?:message\/.*|text\/calendar|application\/ics)$/
const MULTIPART = /^multipart\/(?:alternative|mixed|related)$/

/** RFC 2045 §5.1, without comments. */
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
  // Of texts `format` would change what is read (RFC 3676); a multipart's `type` and `start` change nothing.
  return multipart || !parameters.has('format') ? type : undefined
}

/** RFC 2183. */
function readDisposition(value: string): { kind: string; filename: string | null } | undefined {
  if (value === '') return { kind: '', filename: null }
  const read = readParameters(value)
  if (!read || !/^(?:attachment|inline)$/.test(read.name)) return undefined
  return { kind: read.name, filename: read.parameters.get('filename') ?? null }
}

/** Token, or quoted without anything that has to be escaped, decoded or put together (RFC 2047, RFC 2231). */
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

/** RFC 2045 §6; undefined for what is not well-formed. */
function decodeBody(encoding: string, body: string): Buffer | undefined {
  switch (encoding.toLowerCase()) {
    case '7bit':
    case '8bit':
    case 'binary':
      return Buffer.from(body, 'latin1')
    case 'quoted-printable':
      return decodeQuoted(body)
    case 'base64': {
      const digits = body.replaceAll('\n', '')
      const sound = digits.length % 4 === 0 && /^[A-Za-z\d+/]*={0,2}$/.test(digits)
      return sound ? Buffer.from(digits, 'base64') : undefined
    }
    default:
      return undefined
  }
}
