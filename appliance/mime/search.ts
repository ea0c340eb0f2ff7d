/** Searches the text of a message without parsing all of it. Pure. */
import { splitMessage, type MessageParts } from '../mail/headers.ts'
import {
  createSearchBudget,
  type SearchBudget,
  splitMultipart,
  parseContentType,
  getFieldValues,
} from './entity.ts'
import { decodeQuotedPrintable } from './transfer.ts'

/** Maximum nesting and number of parts that are searched; real messages have a tenth of that. */
const MAX_DEPTH = 20
const MAX_PARTS = 200
/** Maximum number of octets of a part that are searched. Mail clients cut off text at a tenth of that. */
const MAX_TEXT = 1024 * 1024

interface Search {
  bytes: Buffer
  parts: number
  budget: SearchBudget
  /** Reports whether a text, decoded as latin1, matches the search. */
  matches: (text: string) => boolean
}

/**
 * Reports whether a text of the message matches, as HTML or plain text. Attachments aren't searched.
 * @param header the message's own header
 * @param matches gets each text as latin1, one character per octet
 */
export function matchesText(
  message: Uint8Array,
  header: MessageParts,
  matches: (text: string) => boolean,
): boolean {
  const bytes = Buffer.from(message.buffer, message.byteOffset, message.byteLength)
  const search = { bytes, parts: 0, budget: createSearchBudget(bytes.length), matches }
  return isInPart(search, header, [0, bytes.length], 0)
}

function isInPart(
  search: Search,
  { fields, bodyOffset }: MessageParts,
  [start, end]: [number, number],
  depth: number,
): boolean {
  if (depth > MAX_DEPTH || ++search.parts > MAX_PARTS) return false
  const { type, parameters } = parseContentType(getFieldValues(fields, 'content-type')[0] ?? 'text/plain')
  const body = start + bodyOffset
  if (type.startsWith('multipart/')) {
    const boundary = parameters.get('boundary')
    if (!boundary) return false
    const { parts, unclosed } = splitMultipart(search.bytes, [body, end], boundary, {
      ...search,
      most: MAX_PARTS,
    })
    return [...parts, ...(unclosed ? [unclosed] : [])].some((part) =>
      isInPart(search, splitMessage(search.bytes.subarray(...part)), part, depth + 1),
    )
  }
  const isFile = getFieldValues(fields, 'content-disposition').some((value) =>
    /^\s*attachment\b/i.test(value),
  )
  if (!type.startsWith('text/') || isFile) return false
  const octets = search.bytes.subarray(body, Math.min(end, body + MAX_TEXT))
  return search.matches(decoded(octets, getFieldValues(fields, 'content-transfer-encoding')[0] ?? ''))
}

/** Decodes as a lenient mail client does (RFC 2045 §6); an unknown encoding is read as none. */
function decoded(octets: Buffer, encoding: string): string {
  const text = octets.toString('latin1')
  switch (encoding.trim().toLowerCase()) {
    case 'base64':
      return Buffer.from(text, 'base64').toString('latin1')
    case 'quoted-printable':
      return decodeQuotedPrintable(text).toString('latin1')
    default:
      return text
  }
}
