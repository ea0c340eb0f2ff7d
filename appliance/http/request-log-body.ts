/**
 * Bodies as the request log keeps them: JSON, bounded, without secrets and files. Pure.
 * What is left out is replaced by a text in square brackets, so that the rest keeps its shape.
 */
import { decodedFile } from '../mail/json-body.ts'

/** Most bytes of a body in the log. */
export const BODY_ROOM = 16 * 1024

/** Most bytes of one text: a long `html` must not push out the fields after it. */
const TEXT_ROOM = 4 * 1024

/** Nested deeper than any request that we understand; recursion must end. */
const MAX_DEPTH = 12

/** Longer field names are nobody's: they are cut. */
const MAX_NAME = 200

/** What a comma, quotes and a marker cost at least: bounds the number of elements. */
const ELEMENT = 4

/** Fields whose value is a secret wherever they stand; headers that apps give their emails are fields, too. */
const SECRET =
  /^((proxy[-_])?authorization|(set[-_])?cookie|credentials?|.*passw(or)?d|passphrase|(.*[-_])?(secret|token|(api|private|signing)[-_]?key))$/i

/** Fields whose value opens something for whoever has it: our own links. Of these the host is kept. */
const LINK = /^(.*_)?url$/
/** Where an attachment is fetched from; others' links carry signatures in their query. */
const SOURCE = 'path'

/**
 * A body as the text of a JSON object. An array is put under `data`, as lists have it.
 * @returns null where there is no body
 */
export function bodyForLog(body: unknown): string | null {
  if (body === undefined || body === null) return null
  const whole = typeof body === 'object' && !Array.isArray(body) ? body : { data: body }
  return writeObject(whole, false, { left: BODY_ROOM - ELEMENT }, 0)
}

/** Longest query string and error message in the log, in characters. */
const QUERY_ROOM = 1000
const MESSAGE_ROOM = 300

/** Names of query parameters whose value opens something: codes of sign-in providers, signatures of links. */
const SECRET_PARAMETER = /^(code|state|ticket|sig|signature|.*[-_]signature)$/i
/** An API key, wherever it was put. */
const API_KEY = /re_\w{8,}/g

/** A query string as it came, without secrets; null: none. */
export function queryForLog(query: string): string | null {
  if (query === '') return null
  // Bounded before it is read; a value that is cut hides no secret that is looked at afterwards.
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
  // A link may carry a signature in its own query.
  if (/^https?:/i.test(shown) && URL.canParse(shown)) {
    const { origin, pathname, search } = new URL(shown)
    return `${name}=${origin}${pathname}${search === '' ? '' : '?[removed]'}`
  }
  return `${name}=${shown.search(API_KEY) === -1 ? value : '[removed]'}`
}

/** Percent-encoding undone; text that is encoded wrongly stays as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}

/** Why a request was refused, from the body of the error. */
export function messageForLog(answer: unknown): string | null {
  if (typeof answer !== 'object' || answer === null) return null
  const { message } = answer as { message?: unknown }
  if (typeof message !== 'string') return null
  return message.slice(0, MESSAGE_ROOM).toWellFormed()
}

/** Bytes that are left for a body. */
export interface Room {
  left: number
}

/** A long text as the log shows it, cut where there is no more room. */
export const textForLog = (text: string, room: Room): string => JSON.parse(writeText(text, room)) as string

/** A value as JSON; undefined for what JSON has no word for. Written here, because each text is measured as it is written. */
function write(value: unknown, name: string, room: Room, depth: number): string | undefined {
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

function writeObject(value: object, isAttachment: boolean, room: Room, depth: number): string {
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
  room: Room,
  depth: number,
): string | undefined {
  if (isAttachment && name === 'content') return JSON.stringify(removedFile(value))
  if (SECRET.test(name) && value !== null) return '"[removed]"'
  return write(value, name, room, depth + 1)
}

function writeText(text: string, room: Room): string {
  const most = Math.max(0, Math.min(room.left, TEXT_ROOM))
  // No character is less than a byte; escapes and UTF-8 make it more.
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

/** Bytes of a text within JSON, without the quotes. */
const bytesWithin = (quoted: string): number => Buffer.byteLength(quoted) - 2

function withoutSignature(text: string, name: string): string {
  if (name !== SOURCE && !LINK.test(name)) return text
  if (!URL.canParse(text)) return text
  const { origin, pathname } = new URL(text)
  return `${origin}${name === SOURCE ? pathname : '/'}[removed]`
}

/** The size in place of a file's content, in each form that content takes (reference: wire format §2.1). */
function removedFile(content: unknown): unknown {
  if (content === null) return null
  return `[removed: ${sizeOf(content)} bytes]`
}

function sizeOf(content: unknown): number {
  if (typeof content === 'string') {
    const end = content.endsWith('==') ? 2 : content.endsWith('=') ? 1 : 0
    return Math.floor(((content.length - end) * 3) / 4)
  }
  const bytes = decodedFile(content)
  if (bytes) return bytes.length
  if (Array.isArray(content)) return content.length
  const { data } = content as { data?: unknown }
  return Array.isArray(data) ? data.length : 0
}
