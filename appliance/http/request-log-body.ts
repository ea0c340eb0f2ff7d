/**
 * Prepares bodies for the request log: JSON of limited size, without secrets and files. Pure. Omitted parts are
 * replaced by text in square brackets, so that the rest keeps its structure.
 */
import { getDecodedFile } from '../mail/json-body.ts'

/** Maximum size of a logged body, in bytes. */
export const MAX_LOGGED_BODY = 16 * 1024

/** Maximum size of one text, in bytes, so that a long `html` doesn't displace the fields after it. */
const TEXT_ROOM = 4 * 1024

/** Maximum nesting depth, to bound recursion; deeper than any valid request. */
const MAX_DEPTH = 12

/** Maximum length of a field name. Longer names are cut, because no real field has them. */
const MAX_NAME = 200

/** Minimum size of an element (a comma, quotes and a marker), which bounds their number. */
const ELEMENT = 4

/** Fields whose value is secret anywhere, including headers that apps give their emails. */
const SECRET =
  /^((proxy[-_])?authorization|(set[-_])?cookie|credentials?|.*passw(or)?d|passphrase|(.*[-_])?(secret|token|(api|private|signing)[-_]?key))$/i

/** Fields with links of this server, which work without a key. Only the host is kept. */
const LINK = /^(.*_)?url$/
/** The URL of an attachment, which may have a signature in its query. */
const SOURCE = 'path'

/**
 * Formats a body as the text of a JSON object. An array becomes `data`, as in lists.
 * @returns null when there is no body
 */
export function formatBodyForLog(body: unknown): string | null {
  if (body === undefined || body === null) return null
  const whole = typeof body === 'object' && !Array.isArray(body) ? body : { data: body }
  return writeObject(whole, false, { left: MAX_LOGGED_BODY - ELEMENT }, 0)
}

/** Maximum lengths of a logged query string and error message, in characters. */
const QUERY_ROOM = 1000
const MESSAGE_ROOM = 300

/** Names of secret query parameters: codes of identity providers, signatures of links. */
const SECRET_PARAMETER = /^(code|state|ticket|sig|signature|.*[-_]signature)$/i
/** Matches an API key, anywhere in a text. */
const API_KEY = /re_\w{8,}/g

/** Returns a query string without secrets; null if there is none. */
export function redactQuery(query: string): string | null {
  if (query === '') return null
  // Cut before parsing. The checks still recognize a secret whose value was cut.
  const kept = query.slice(0, QUERY_ROOM).split('&').map(parameterForLog).join('&')
  return query.length > QUERY_ROOM ? `${kept}[cut: ${query.length - QUERY_ROOM} more characters]` : kept
}

function parameterForLog(parameter: string): string {
  const [name = '', ...rest] = parameter.split('=')
  if (rest.length === 0) return parameter.replaceAll(API_KEY, '[removed]')
  const plain = decoded(name)
  if (SECRET.test(plain) || SECRET_PARAMETER.test(plain)) return `${name}=[removed]`
  const value = rest.join('=')
  const shown = decoded(value)
  // A link may have a signature in its own query.
  if (/^https?:/i.test(shown) && URL.canParse(shown)) {
    const { origin, pathname, search } = new URL(shown)
    return `${name}=${origin}${pathname}${search === '' ? '' : '?[removed]'}`
  }
  return `${name}=${shown.search(API_KEY) === -1 ? value : '[removed]'}`
}

/** Percent-decodes text; returns it unchanged when it is encoded incorrectly. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}

/** Returns why a request was refused, from the error body. */
export function extractRefusalMessage(answer: unknown): string | null {
  if (typeof answer !== 'object' || answer === null) return null
  const { message } = answer as { message?: unknown }
  if (typeof message !== 'string') return null
  return message.slice(0, MESSAGE_ROOM).toWellFormed()
}

/** Bytes left for a body. */
export interface RemainingBytes {
  left: number
}

/** Returns a text as logged, cut when there is no more space. */
export const truncateForLog = (text: string, room: RemainingBytes): string =>
  JSON.parse(writeText(text, room)) as string

/**
 * Serializes a value; undefined when JSON can't express it. Doesn't use `JSON.stringify` for the whole value, because
 * each text is measured as it is written.
 */
function write(value: unknown, name: string, room: RemainingBytes, depth: number): string | undefined {
  room.left -= ELEMENT
  if (typeof value === 'string') return writeText(withoutSignature(value, name), room)
  if (typeof value !== 'object' || value === null) {
    room.left -= 8
    return JSON.stringify(value)
  }
  if (depth >= MAX_DEPTH) return '"[cut: nested too deeply]"'
  if (!Array.isArray(value)) return writeObject(value, name === 'attachments', room, depth)
  const kept: string[] = []
  for (const element of value as unknown[]) {
    if (room.left <= 0) {
      kept.push(`"[cut: ${value.length - kept.length} more]"`)
      break
    }
    kept.push(write(element, name, room, depth + 1) ?? 'null')
  }
  return `[${kept.join(',')}]`
}

function writeObject(value: object, isAttachment: boolean, room: RemainingBytes, depth: number): string {
  const kept: string[] = []
  const fields = Object.entries(value)
  for (const [index, [field, inner]] of fields.entries()) {
    if (room.left <= 0) {
      kept.push(`"[cut]":"[cut: ${fields.length - index} more]"`)
      break
    }
    const name = field.slice(0, MAX_NAME)
    const quoted = JSON.stringify(name)
    room.left -= Buffer.byteLength(quoted)
    const text = writeField(name, inner, isAttachment, room, depth)
    if (text !== undefined) kept.push(`${quoted}:${text}`)
  }
  return `{${kept.join(',')}}`
}

function writeField(
  name: string,
  value: unknown,
  isAttachment: boolean,
  room: RemainingBytes,
  depth: number,
): string | undefined {
  if (isAttachment && name === 'content') return JSON.stringify(removedFile(value))
  if (SECRET.test(name) && value !== null) return '"[removed]"'
  return write(value, name, room, depth + 1)
}

function writeText(text: string, room: RemainingBytes): string {
  const most = Math.max(0, Math.min(room.left, TEXT_ROOM))
  // Every character takes at least one byte; escapes and UTF-8 take more.
  let kept = text.slice(0, most)
  let quoted = JSON.stringify(kept)
  let size = bytesWithin(quoted)
  while (size > most && kept.length > 0) {
    kept = kept.slice(0, Math.floor((kept.length * most) / size))
    quoted = JSON.stringify(kept)
    size = bytesWithin(quoted)
  }
  room.left -= size
  if (kept.length === text.length) return quoted
  return JSON.stringify(`${kept.toWellFormed()}[cut: ${text.length - kept.length} more characters]`)
}

/** Returns the size of a text within JSON in bytes, without quotes. */
const bytesWithin = (quoted: string): number => Buffer.byteLength(quoted) - 2

function withoutSignature(text: string, name: string): string {
  if (name !== SOURCE && !LINK.test(name)) return text
  if (!URL.canParse(text)) return text
  const { origin, pathname } = new URL(text)
  return `${origin}${name === SOURCE ? pathname : '/'}[removed]`
}

/**
 * Returns a note with the size that replaces a file's content, in each format of content (reference: wire format §2.1).
 */
function removedFile(content: unknown): unknown {
  if (content === null) return null
  return `[removed: ${sizeOf(content)} bytes]`
}

function sizeOf(content: unknown): number {
  if (typeof content === 'string') {
    const end = content.endsWith('==') ? 2 : content.endsWith('=') ? 1 : 0
    return Math.floor(((content.length - end) * 3) / 4)
  }
  const bytes = getDecodedFile(content)
  if (bytes) return bytes.length
  if (Array.isArray(content)) return content.length
  const { data } = content as { data?: unknown }
  return Array.isArray(data) ? data.length : 0
}
