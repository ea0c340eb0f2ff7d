/**
 * Reads DNS queries (RFC 1035 §4.1, EDNS of RFC 6891, cookies of RFC 7873). Every octet comes from a stranger: nothing here
 * throws, follows a pointer or allocates more than the packet.
 */

/** The EDNS fields of a query. */
export interface Edns {
  /** The largest UDP response that the client accepts, in octets. */
  payload: number
  version: number
  /** Echoed in the response (RFC 3225 §3). */
  dnssecOk: boolean
  /** The data of the COOKIE option; undefined without one. */
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
  /** The question section as received, which the response repeats. Clients compare its case. */
  question: Buffer
  /** In lower case, without the root dot; octets that no name of ours has are escaped as `\ddd`. */
  name: string
  /** Where each label of the name starts in the message, for compression pointers; the last is the root. */
  labels: number[]
  type: number
  class: number
  edns: Edns | undefined
}

/** Why a query gets no answer: no response at all, or one with only a header and a response code. */
export type Parsed =
  { kind: 'query'; query: Query } | { kind: 'refused'; header: QueryHeader; rcode: number } | { kind: 'drop' }

/** Response codes (RFC 1035 §4.1.1, RFC 6891 §9). */
export const RCODE = { NOERROR: 0, FORMERR: 1, NXDOMAIN: 3, NOTIMP: 4, REFUSED: 5, BADVERS: 16 } as const

const HEADER = 12
const OPT = 41
const COOKIE = 10
/** OPT, and possibly a signature. */
const MOST_ADDITIONALS = 4

/** Reads a query. Ignores responses, so that two servers can't answer each other forever. */
export function parseQuery(bytes: Buffer): Parsed {
  if (bytes.length < HEADER || (bytes[2]! & 0x80) !== 0) return { kind: 'drop' }
  const header: QueryHeader = {
    id: bytes.readUInt16BE(0),
    opcode: (bytes[2]! >> 3) & 0xf,
    recursionDesired: (bytes[2]! & 1) !== 0,
    checkingDisabled: (bytes[3]! & 0x10) !== 0,
  }
  const refused = (rcode: number): Parsed => ({ kind: 'refused', header, rcode })
  if (header.opcode !== 0) return refused(RCODE.NOTIMP)
  const [questions, answers, authorities, additionals] = [4, 6, 8, 10].map((at) => bytes.readUInt16BE(at))
  // One question per query (RFC 9619). Only IXFR has an authority section, and there are no transfers.
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
    // Above 63 it is a compression pointer, which has nothing to point to here, or an obsolete label type.
    if (length === undefined || length > 63) return undefined
    labels.push(at)
    if (length === 0) break
    const end = at + 1 + length
    // 255 octets in all, with the root (RFC 1035 §2.3.4).
    if (end > bytes.length || end - HEADER > 254) return undefined
    texts.push(labelText(bytes.subarray(at + 1, end)))
    at = end
  }
  at++
  if (at + 4 > bytes.length) return undefined
  const [type, klass] = [bytes.readUInt16BE(at), bytes.readUInt16BE(at + 2)]
  return { name: texts.join('.'), labels, type, class: klass, end: at + 4 }
}

/** Converts to lower case (RFC 4343). Escapes what separates labels or isn't printable. */
function labelText(label: Buffer): string {
  const text = label.toString('latin1')
  if (/^[!-\-/-[\]-~]+$/.test(text)) return text.toLowerCase()
  return [...text]
    .map((char) =>
      /[!-\-/-[\]-~]/.test(char) ? char.toLowerCase() : `\\${char.charCodeAt(0).toString().padStart(3, '0')}`,
    )
    .join('')
}

/** Finds the OPT record; undefined when the section is malformed, has two of them, or something follows it. */
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

/** Returns the offset after a name, or past the end of the packet when the name is malformed. */
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

/** Reads an OPT record (RFC 6891 §6.1); undefined when an option runs past its end. */
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
  // 8 octets of the client, or 8 to 32 of the server after them (RFC 7873 §5.2.2).
  if (cookie && cookie.length !== 8 && (cookie.length < 16 || cookie.length > 40)) return undefined
  return {
    payload: bytes.readUInt16BE(at + 2),
    version: bytes[at + 5]!,
    dnssecOk: (bytes[at + 6]! & 0x80) !== 0,
    cookie,
  }
}
