/**
 * Parses the header of an entity (RFC 2045 §2.4), which is a message or one of its parts, and finds its parts. Pure.
 */
import { getUnfoldedValue, splitMessage, type HeaderField } from '../mail/headers.ts'

/** Maximum number of fields in a message; real ones have fewer than a hundred. */
export const MAX_FIELDS = 1000
/** Maximum number of fields to parse: the daemon adds a few to an accepted message. */
const MAX_SPLIT = MAX_FIELDS + 20

/** A parsed header. */
export interface Header {
  fields: HeaderField[]
  /** The fields by name in lower case. */
  byName: ReadonlyMap<string, HeaderField[]>
  /** Offset of the body; the length of the message when there is none. */
  bodyOffset: number
}

/** Parses the header of a message without checking it; the caller decides what to accept. */
export function splitHeader(message: Uint8Array): Header {
  const { fields, bodyOffset } = splitMessage(message, MAX_SPLIT)
  return { fields, bodyOffset, byName: Map.groupBy(fields, ({ name }) => name.toLowerCase()) }
}

/** Returns the values of all fields with this name (lower case), in order. */
export function getAllValues({ byName }: Header, name: string): string[] {
  return byName.get(name)?.map(getUnfoldedValue) ?? []
}

/** Returns the values of all fields with this name (lower case). */
export function getFieldValues(fields: readonly HeaderField[], name: string): string[] {
  return fields.filter((field) => field.name.toLowerCase() === name).map(getUnfoldedValue)
}

export interface ContentType {
  /** `type/subtype` in lower case; empty when malformed. */
  type: string
  /** Parameters by name in lower case. */
  parameters: Map<string, string>
}

/**
 * Parses Content-Type (RFC 2045 §5.1) without comments. Ignores parameters that occur twice or in sections (RFC 2231).
 */
export function parseContentType(value: string): ContentType {
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

/** Whether changing the content would break a signature, or its content is encrypted (RFC 1847; S/MIME and OpenPGP). */
export function isSignedOrEncrypted(type: string): boolean {
  return type === 'multipart/signed' || type === 'multipart/encrypted'
}

type Range = [start: number, end: number]

export interface MultipartParts {
  parts: Range[]
  /** The last part when it has no closing delimiter: it may be truncated. */
  unclosed: Range | null
}

/** How many octets the searches for the delimiters of one message may still read. */
export interface SearchBudget {
  octets: number
}

/**
 * Creates the budget for a message. Each level of nesting reads its parts again. Real messages are small or have one large
 * level within another; a message of 40 MB with 20 levels would block the event loop for seconds.
 * @param size size of the message in octets
 */
export const createSearchBudget = (size: number): SearchBudget => ({ octets: 2 * size + 8 * 1024 * 1024 })

/**
 * Finds the parts of a multipart. The CRLF before each delimiter belongs to the delimiter (RFC 2046 §5.1.1). Finds none if
 * the search would exceed the budget.
 * @param limits `most`: maximum number of parts; `budget`: undefined for a message that was composed here
 */
export function splitMultipart(
  bytes: Buffer,
  [start, end]: Range,
  boundary: string,
  { most, budget }: { most: number; budget?: SearchBudget },
): MultipartParts {
  if (budget && (budget.octets -= end - start) < 0) return { parts: [], unclosed: null }
  // Neither the search nor its cost may go beyond the range: a message may have many parts without their delimiter.
  const within = bytes.subarray(0, end)
  // A needle that begins with CR is found faster among lines of hyphens.
  const needle = Buffer.from(`\r\n--${boundary}`, 'latin1')
  const length = needle.length - 2
  const find = (from: number): number => {
    const at = within.indexOf(needle, from)
    return at < 0 ? -1 : at + 2
  }
  const parts: Range[] = []
  let open = -1
  let at = within.subarray(start, start + length).equals(needle.subarray(2)) ? start : find(start)
  for (; at >= 0; at = find(at + length)) {
    const rest = at + length
    const lineEnd = within.indexOf('\r\n', rest)
    const line = within.toString('latin1', rest, Math.min(lineEnd < 0 ? end : lineEnd, rest + 100))
    const closes = /^--[ \t]*$/.test(line)
    if (!closes && !/^[ \t]*$/.test(line)) continue
    if (open >= 0) parts.push([open, Math.max(open, at - 2)])
    if (closes || lineEnd < 0 || parts.length >= most) return { parts, unclosed: null }
    open = lineEnd + 2
  }
  return { parts, unclosed: open >= 0 && open <= end ? [open, end] : null }
}
