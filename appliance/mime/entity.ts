/** What an entity (RFC 2045 §2.4), a message or one of its parts, says of itself, and where its parts are. Pure. */
import { fieldValue, splitMessage, type HeaderField } from '../mail/headers.ts'

/** Fields that a message may have; real ones have fewer than a hundred. */
export const MAX_FIELDS = 1000
/** Fields that are looked at: we add a few to those of an accepted message. */
const MAX_SPLIT = MAX_FIELDS + 20

/** A header that was read. */
export interface Header {
  fields: HeaderField[]
  /** The same fields by their names in lower case. */
  byName: ReadonlyMap<string, HeaderField[]>
  /** Where the body begins; the length of the message when there is none. */
  bodyOffset: number
}

/** Reads the header of a message as it is; what is wrong with it is for the caller to judge. */
export function splitHeader(message: Uint8Array): Header {
  const { fields, bodyOffset } = splitMessage(message, MAX_SPLIT)
  return { fields, bodyOffset, byName: Map.groupBy(fields, ({ name }) => name.toLowerCase()) }
}

/** The values of all fields of that name, given in lower case, in order. */
export function allOf({ byName }: Header, name: string): string[] {
  return byName.get(name)?.map(fieldValue) ?? []
}

/** The values of all fields of that name, given in lower case. */
export function valuesOf(fields: readonly HeaderField[], name: string): string[] {
  return fields.filter((field) => field.name.toLowerCase() === name).map(fieldValue)
}

export interface ContentType {
  /** `type/subtype` in lower case; empty for what is none. */
  type: string
  /** Names in lower case. */
  parameters: Map<string, string>
}

/** RFC 2045 §5.1, without comments. Of a parameter that comes twice, and of one in pieces (RFC 2231), nothing is believed. */
export function readContentType(value: string): ContentType {
  const [, type = ''] = /^\s*([\w!#$&^.+-]+\/[\w!#$&^.+-]+)\s*(?:;|$)/.exec(value) ?? []
  const parameters = new Map<string, string>()
  for (const [, name, quoted, token] of value.matchAll(
    /;\s*([\w*-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))/g,
  )) {
    const key = name!.toLowerCase()
    const text = quoted?.replaceAll(/\\(.)/g, '$1') ?? token!
    parameters.set(key, parameters.has(key) ? '' : text)
  }
  return { type: type.toLowerCase(), parameters }
}

/** Whether a change within would break a signature, or could not be read (RFC 1847; S/MIME and OpenPGP). */
export function isSealed(type: string): boolean {
  return type === 'multipart/signed' || type === 'multipart/encrypted'
}

type Range = [start: number, end: number]

export interface Parts {
  parts: Range[]
  /** The last part where it has no end: it may be cut off. */
  unclosed: Range | null
}

/**
 * Where the parts of a multipart begin and end, without the CRLF before each delimiter, which is the delimiter's (RFC 2046 §5.1.1).
 * @param most parts that are looked for
 */
export function partsOf(bytes: Buffer, [start, end]: Range, boundary: string, most: number): Parts {
  const delimiter = Buffer.from(`--${boundary}`, 'latin1')
  const parts: Range[] = []
  let open = -1
  for (let at = bytes.indexOf(delimiter, start); at >= 0 && at < end;) {
    const rest = at + delimiter.length
    const lineEnd = bytes.indexOf('\r\n', rest)
    const line = bytes.toString('latin1', rest, Math.min(lineEnd < 0 ? end : lineEnd, rest + 100, end))
    const begins = at === start || (bytes[at - 1] === 10 && bytes[at - 2] === 13)
    const closes = /^--[ \t]*$/.test(line)
    if (begins && (closes || /^[ \t]*$/.test(line))) {
      if (open >= 0) parts.push([open, Math.max(open, at - 2)])
      if (closes || lineEnd < 0 || lineEnd >= end || parts.length >= most) return { parts, unclosed: null }
      open = lineEnd + 2
    }
    at = bytes.indexOf(delimiter, rest)
  }
  return { parts, unclosed: open >= 0 && open <= end ? [open, end] : null }
}
