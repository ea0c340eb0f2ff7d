/**
 * Parses DNS queries (RFC 1035 §4.1, EDNS of RFC 6891, cookies of RFC 7873). Every octet is untrusted: nothing here
 * throws, follows a pointer or allocates more than the packet.
 */

/** The EDNS fields of a query. */
export interface Edns {
  /** Maximum size of a UDP response that the client accepts, in octets. */
  payload: number
  version: number
  /** Whether the DO flag is set, which the response repeats (RFC 3225 §3). */
  dnssecOk: boolean
  /** The data of the COOKIE option; undefined if there is none. */
  cookie: Buffer | undefined
}

/** The header fields that a response repeats. */
export interface QueryHeader {
  id: number
  opcode: number
  recursionDesired: boolean
  checkingDisabled: boolean
}

/** A query with one question. */
export interface Query extends QueryHeader {
  /** The question section as received, which the response repeats. Clients compare upper and lower case. */
  question: Buffer
  /**
   * The queried name in lower case, without the root dot; octets that none of our names contain are escaped as `\ddd`.
   */
  name: string
  /** Offset of each label of the name in the message, for compression pointers; the last one is the root's. */
  labels: number[]
  type: number
  class: number
  edns: Edns | undefined
}

/**
 * The parsed query, or why it gets no answer: no response at all, or a response with only a header and a response code.
 */
export type QueryParseResult =
  { kind: 'query'; query: Query } | { kind: 'refused'; header: QueryHeader; rcode: number } | { kind: 'drop' }

/** Response codes (RFC 1035 §4.1.1, RFC 6891 §9). */
export const RCODE = { NOERROR: 0, FORMERR: 1, NXDOMAIN: 3, NOTIMP: 4, REFUSED: 5, BADVERS: 16 } as const

const HEADER = 12
const OPT = 41
const COOKIE = 10
/** Maximum number of additional records: OPT, and possibly a signature. */
const MOST_ADDITIONALS = 4

/** Parses a query. Ignores responses, so that two servers can't answer each other forever. */
export function parseQuery(bytes: Buffer): QueryParseResult {
  if (bytes.length < HEADER || (bytes[2]! & 0x80) !== 0) return { kind: 'drop' }
  const header: QueryHeader = {
    id: bytes.readUInt16BE(0),
    opcode: (bytes[2]! >> 3) & 0xf,
    recursionDesired: (bytes[2]! & 1) !== 0,
    checkingDisabled: (bytes[3]! & 0x10) !== 0,
  }
  const refused = (rcode: number): QueryParseResult => ({ kind: 'refused', header, rcode })
  if (header.opcode !== 0) return refused(RCODE.NOTIMP)
  const [questions, answers, authorities, additionals] = [4, 6, 8, 10].map((at) => bytes.readUInt16BE(at))
  // A query has one question (RFC 9619). Only IXFR has an authority section, and transfers aren't supported.
  if (questions !== 1 || answers !== 0) return refused(RCODE.FORMERR)
  const asked = readQuestion(bytes)
  if (asked === undefined || additionals! > MOST_ADDITIONALS) return refused(RCODE.FORMERR)
  if (authorities !== 0) return refused(RCODE.REFUSED)
  const extra = readAdditionals(bytes, asked.end, additionals!)
  if (extra === undefined) return refused(RCODE.FORMERR)
  const { end, ...question } = asked
  return {
    kind: 'query',
    query: { ...header, ...question, question: bytes.subarray(HEADER, end), edns: extra.edns },
  }
}

type Asked = Pick<Query, 'name' | 'labels' | 'type' | 'class'> & { end: number }

function readQuestion(bytes: Buffer): Asked | undefined {
  const labels: number[] = []
  const texts: string[] = []
  let at = HEADER
  for (;;) {
    const length = bytes[at]
    // A length above 63 is a compression pointer, which has nothing to point to here, or an obsolete label type.
    if (length === undefined || length > 63) return undefined
    labels.push(at)
    if (length === 0) break
    const end = at + 1 + length
    // A name has at most 255 octets, including the root (RFC 1035 §2.3.4).
    if (end > bytes.length || end - HEADER > 254) return undefined
    texts.push(labelText(bytes.subarray(at + 1, end)))
    at = end
  }
  at++
  if (at + 4 > bytes.length) return undefined
  const [type, klass] = [bytes.readUInt16BE(at), bytes.readUInt16BE(at + 2)]
  return { name: texts.join('.'), labels, type, class: klass, end: at + 4 }
}

/** Converts a label to lower case (RFC 4343). Escapes dots, backslashes, spaces and unprintable octets. */
function labelText(label: Buffer): string {
  const text = label.toString('latin1')
  if (/^[!-\-/-[\]-~]+$/.test(text)) return text.toLowerCase()
  return [...text]
    .map((char) =>
      /[!-\-/-[\]-~]/.test(char) ? char.toLowerCase() : `\\${char.charCodeAt(0).toString().padStart(3, '0')}`,
    )
    .join('')
}

/** Finds the OPT record; undefined if the section is malformed, has two OPT records, or is followed by more data. */
function readAdditionals(
  bytes: Buffer,
  start: number,
  count: number,
): { edns: Edns | undefined } | undefined {
  let at = start
  let edns: Edns | undefined
  for (let index = 0; index < count; index++) {
    const owner = at
    at = skipName(bytes, at)
    if (at + 10 > bytes.length) return undefined
    const end = at + 10 + bytes.readUInt16BE(at + 8)
    if (end > bytes.length) return undefined
    if (bytes.readUInt16BE(at) === OPT) {
      if (edns !== undefined || bytes[owner] !== 0) return undefined
      edns = readOpt(bytes, at, end)
      if (edns === undefined) return undefined
    }
    at = end
  }
  return at === bytes.length ? { edns } : undefined
}

/** Returns the offset after a name, or past the end of the packet if the name is malformed. */
function skipName(bytes: Buffer, start: number): number {
  let at = start
  for (;;) {
    const length = bytes[at]
    if (length === undefined) return bytes.length + 1
    if (length >= 0xc0) return at + 2
    if (length > 63) return bytes.length + 1
    at += 1 + length
    if (length === 0) return at
  }
}

/** Parses an OPT record (RFC 6891 §6.1); undefined if an option extends past the end of the record. */
function readOpt(bytes: Buffer, at: number, end: number): Edns | undefined {
  let cookie: Buffer | undefined
  let option = at + 10
  while (option < end) {
    if (option + 4 > end) return undefined
    const after = option + 4 + bytes.readUInt16BE(option + 2)
    if (after > end) return undefined
    if (bytes.readUInt16BE(option) === COOKIE) cookie ??= bytes.subarray(option + 4, after)
    option = after
  }
  // A cookie has 8 octets of the client, optionally followed by 8 to 32 octets of the server (RFC 7873 §5.2.2).
  if (cookie && cookie.length !== 8 && (cookie.length < 16 || cookie.length > 40)) return undefined
  return {
    payload: bytes.readUInt16BE(at + 2),
    version: bytes[at + 5]!,
    dnssecOk: (bytes[at + 6]! & 0x80) !== 0,
    cookie,
  }
}
