import { randomInt } from 'node:crypto'
import * as codec from 'dns-packet'
import type { RecordType } from './dns.ts'

/**
 * Encodes and decodes DNS messages (RFC 1035 §4.1, EDNS of RFC 6891).
 *
 * Sections are walked here by RDLENGTH, and only the types in use are decoded. The package's own `decode` rejects a
 * whole message for one bad record, and reads past the end of a record with a wrong length.
 */

declare module 'dns-packet' {
  /** The package's codec of one data type. After a call, `decode.bytes` is the number of bytes consumed. */
  interface Codec<T> {
    decode: ((bytes: Buffer, offset: number) => T) & { bytes: number }
  }
  const name: Codec<string>
  function record(type: string): Codec<unknown>
}

/** A query: a canonical name and a type. */
export interface Question {
  name: string
  type: RecordType
}

/** A record as received. Its data is untrusted and in the codec's format. */
export interface WireRecord {
  name: string
  type: RecordType | 'SOA'
  /** Seconds. */
  ttl: number
  data: unknown
}

/** The parts of a response that an answer depends on. */
export interface Message {
  id: number
  response: boolean
  /** The extended 12-bit code (RFC 6891 §6.1.3). Without the upper eight bits, BADVERS looks like NOERROR. */
  rcode: number
  authoritative: boolean
  truncated: boolean
  recursive: boolean
  authentic: boolean
  /** Undefined when the server left it out, as some do in a FORMERR. */
  question: { name: string; type: number; class: number } | undefined
  answers: WireRecord[]
  authorities: WireRecord[]
  /** Types of records in the answer section whose data couldn't be decoded; they are not in `answers`. */
  malformed: string[]
}

/** Type codes (IANA DNS parameters). */
const typeCodes = { A: 1, NS: 2, CNAME: 5, SOA: 6, PTR: 12, MX: 15, TXT: 16, AAAA: 28, TLSA: 52 } as const
const typeNames = new Map<number, keyof typeof typeCodes>(
  Object.entries(typeCodes).map(([name, code]) => [code, name as keyof typeof typeCodes]),
)
const OPT = 41
const IN = 1

/** 1232 octets fit every path without fragmentation; fragments are often lost and easily forged (RFC 9715 §3). */
const PAYLOAD_BYTES = 1232

/** Bounds the work for one message; real answers have fewer records. */
const MAX_RECORDS = 512

/** Encodes a query with a random id. `recursion` sets RD. AD asks whether the answer was validated (RFC 6840 §5.7). */
export function encodeQuery(
  question: Question,
  options: { recursion: boolean; edns: boolean },
): { id: number; bytes: Buffer } {
  const id = randomInt(0x1_0000)
  const opt: codec.OptAnswer = {
    type: 'OPT',
    name: '.',
    udpPayloadSize: PAYLOAD_BYTES,
    extendedRcode: 0,
    ednsVersion: 0,
    flags: 0,
    flag_do: false,
    options: [],
  }
  const flags = codec.AUTHENTIC_DATA | (options.recursion ? codec.RECURSION_DESIRED : 0)
  const questions = [{ name: question.name, type: question.type, class: 'IN' as const }]
  const bytes = codec.encode({
    type: 'query',
    id,
    flags,
    questions,
    additionals: options.edns ? [opt] : [],
  })
  return { id, bytes }
}

/** Decodes a message. Throws a RangeError or an error of the codec when it is malformed. */
export function decodeMessage(bytes: Buffer): Message {
  const flags = bytes.readUInt16BE(2)
  const counts = [6, 8, 10].map((at) => bytes.readUInt16BE(at))
  const questions = bytes.readUInt16BE(4)
  if (questions > 1) throw new RangeError('more than one question')
  const cursor = { bytes, at: 12 }
  const message: Message = {
    id: bytes.readUInt16BE(0),
    response: (flags & 0x8000) !== 0 && (flags & 0x7800) === 0,
    rcode: flags & 0xf,
    authoritative: (flags & codec.AUTHORITATIVE_ANSWER) !== 0,
    truncated: (flags & codec.TRUNCATED_RESPONSE) !== 0,
    recursive: (flags & codec.RECURSION_AVAILABLE) !== 0,
    authentic: (flags & codec.AUTHENTIC_DATA) !== 0,
    question: questions === 1 ? readQuestion(cursor) : undefined,
    answers: [],
    authorities: [],
    malformed: [],
  }
  // A truncated message may end in the middle of a record, and the query is repeated over TCP anyway.
  if (message.truncated) return message
  if (counts.reduce((sum, count) => sum + count) > MAX_RECORDS) throw new RangeError('too many records')
  counts.forEach((count, section) => readSection(cursor, section, count, message))
  return message
}

/** Whether a message answers the question: same id, name (ignoring case), type and class. */
export function isAnswerTo(message: Message, id: number, question: Question): boolean {
  if (!message.response || message.id !== id) return false
  const asked = message.question
  if (!asked) return message.rcode !== 0 && message.rcode !== 3
  return (
    asked.name.toLowerCase() === question.name &&
    asked.type === typeCodes[question.type] &&
    asked.class === IN
  )
}

interface Cursor {
  bytes: Buffer
  at: number
}

function readName(cursor: Cursor): string {
  const name = codec.name.decode(cursor.bytes, cursor.at)
  cursor.at += codec.name.decode.bytes
  return name === '.' ? '' : name
}

function readQuestion(cursor: Cursor): NonNullable<Message['question']> {
  const name = readName(cursor)
  const type = cursor.bytes.readUInt16BE(cursor.at)
  const klass = cursor.bytes.readUInt16BE(cursor.at + 2)
  cursor.at += 4
  return { name, type, class: klass }
}

function readSection(cursor: Cursor, section: number, count: number, message: Message): void {
  for (let index = 0; index < count; index++) {
    const name = readName(cursor).toLowerCase()
    const { bytes, at } = cursor
    const code = bytes.readUInt16BE(at)
    const length = bytes.readUInt16BE(at + 8)
    cursor.at = at + 10 + length
    if (cursor.at > bytes.length) throw new RangeError('a record runs past the end')
    if (code === OPT && section === 2) message.rcode |= bytes.readUInt8(at + 4) << 4
    const type = typeNames.get(code)
    if (!type || section === 2 || bytes.readUInt16BE(at + 2) !== IN) continue
    const data = readData(type, bytes, at + 8, length)
    if (data === undefined) {
      if (section === 0) message.malformed.push(type)
      continue
    }
    // A time to live with the top bit set counts as zero (RFC 2181 §8).
    const ttl = bytes.readUInt32BE(at + 4)
    const record = { name, type, ttl: ttl > 0x7fff_ffff ? 0 : ttl, data }
    if (section === 0) message.answers.push(record)
    else message.authorities.push(record)
  }
}

/** Decodes record data; undefined when it is malformed or its length differs from RDLENGTH. */
function readData(type: keyof typeof typeCodes, bytes: Buffer, at: number, length: number): unknown {
  // The package's NS codec reports RDLENGTH instead of what it read. PTR has the same format and reports correctly.
  const { decode } = codec.record(type === 'NS' ? 'PTR' : type)
  try {
    const data = decode(bytes, at)
    return decode.bytes === length + 2 ? data : undefined
  } catch {
    // One bad record must not hide the others. The caller counts it.
    return undefined
  }
}
