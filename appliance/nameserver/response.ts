/** Encodes responses (RFC 1035 §4.1, RFC 6891 §6.1). */
import type { Reply } from './answer.ts'
import type { Query, QueryHeader } from './query.ts'
import { RECORD_TYPE, type RecordSet } from './zone.ts'

/** Maximum size of a response without EDNS, in octets (RFC 1035 §2.3.4). */
const PLAIN_BYTES = 512
/**
 * Maximum size of a UDP response: 1232 octets fit every path without fragmentation; fragments are often lost and easily
 * forged (RFC 9715 §3).
 */
const PAYLOAD_BYTES = 1232
/** Maximum size of a TCP response, because the length field has two octets. */
const TCP_BYTES = 65_535

const COOKIE = 10

/** How a response is sent. */
export interface Transport {
  tcp: boolean
  /** The data of the response's COOKIE option; undefined if there is none. */
  cookie: Buffer | undefined
}

/** Encodes a response with only a header, for queries that can't be parsed. */
export function encodeRefusal(header: QueryHeader, rcode: number): Buffer {
  return encodeHeader(header, { rcode, authoritative: false, truncated: false }, [0, 0, 0, 0])
}

/** Encodes a response. If it doesn't fit into a UDP packet, encodes a truncated response instead (RFC 2181 §9). */
export function encodeResponse(query: Query, reply: Reply, transport: Transport): Buffer {
  const limit = transport.tcp
    ? TCP_BYTES
    : Math.min(PAYLOAD_BYTES, Math.max(PLAIN_BYTES, query.edns?.payload ?? PLAIN_BYTES))
  const whole = assemble(query, reply, { ...transport, truncated: false })
  return whole.length <= limit ? whole : encodeTruncated(query, transport)
}

/** Encodes a response without records that tells the client to repeat the query over TCP. */
export function encodeTruncated(query: Query, transport: Transport): Buffer {
  const empty: Reply = { rcode: 0, authoritative: true, answers: [], negative: undefined }
  return assemble(query, empty, { ...transport, truncated: true })
}

function assemble(
  query: Query,
  reply: Reply,
  { cookie, truncated }: Transport & { truncated: boolean },
): Buffer {
  const answers = reply.answers.flatMap((set) => encodeSet(query.labels[0]!, set))
  const authorities = reply.negative
    ? encodeSet(ownerOf(query, reply.negative.apex), reply.negative.soa, true)
    : []
  const additionals = query.edns ? [encodeOpt(reply.rcode, query.edns.dnssecOk, cookie)] : []
  const counts = [1, answers.length, authorities.length, additionals.length]
  const { rcode, authoritative } = reply
  const header = encodeHeader(query, { rcode, authoritative, truncated }, counts)
  return Buffer.concat([header, query.question, ...answers, ...authorities, ...additionals])
}

/** Returns the offset of the zone's name within the question, where it forms the last labels. */
function ownerOf({ labels }: Query, apex: string): number {
  return labels.at(-1 - apex.split('.').length)!
}

function encodeHeader(
  header: QueryHeader,
  { rcode, authoritative, truncated }: { rcode: number; authoritative: boolean; truncated: boolean },
  counts: number[],
): Buffer {
  const bytes = Buffer.alloc(12)
  bytes.writeUInt16BE(header.id, 0)
  bytes[2] =
    0x80 |
    (header.opcode << 3) |
    (authoritative ? 4 : 0) |
    (truncated ? 2 : 0) |
    (header.recursionDesired ? 1 : 0)
  bytes[3] = (header.checkingDisabled ? 0x10 : 0) | (rcode & 0xf)
  counts.forEach((count, at) => bytes.writeUInt16BE(count, 4 + 2 * at))
  return bytes
}

/** Encodes the records of a set, with a compression pointer to their name in the question. */
function encodeSet(owner: number, { type, ttl, data }: RecordSet, negative = false): Buffer[] {
  return data.map((bytes) => {
    const start = Buffer.alloc(10)
    start.writeUInt16BE(0xc000 | owner, 0)
    start.writeUInt16BE(type, 2)
    start.writeUInt16BE(1, 4)
    // In a negative answer, the TTL of the SOA record is limited by its last field, the negative TTL (RFC 2308 §3).
    const most = negative && type === RECORD_TYPE.SOA ? bytes.readUInt32BE(bytes.length - 4) : ttl
    start.writeUInt32BE(Math.min(ttl, most), 6)
    return Buffer.concat([start, bytes])
  })
}

function encodeOpt(rcode: number, dnssecOk: boolean, cookie: Buffer | undefined): Buffer {
  const option = cookie ? 4 + cookie.length : 0
  const bytes = Buffer.alloc(11 + option)
  bytes.writeUInt16BE(RECORD_TYPE.OPT, 1)
  bytes.writeUInt16BE(PAYLOAD_BYTES, 3)
  bytes[5] = rcode >> 4
  bytes[7] = dnssecOk ? 0x80 : 0
  bytes.writeUInt16BE(option, 9)
  if (cookie) {
    bytes.writeUInt16BE(COOKIE, 11)
    bytes.writeUInt16BE(cookie.length, 13)
    cookie.copy(bytes, 15)
  }
  return bytes
}
