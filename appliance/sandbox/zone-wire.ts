import * as codec from 'dns-packet'
import type { Packet } from 'dns2'
import type { ZoneAnswer } from './zone-answer.ts'

/** Encodes a zone's answer (RFC 1035 §4.1). */

const OPT = 41
const edns: codec.OptAnswer = {
  type: 'OPT',
  name: '.',
  udpPayloadSize: 1232,
  extendedRcode: 0,
  ednsVersion: 0,
  flags: 0,
  flag_do: false,
  options: [],
}

const typeNames = new Map([
  [1, 'A'],
  [2, 'NS'],
  [5, 'CNAME'],
  [12, 'PTR'],
  [15, 'MX'],
  [16, 'TXT'],
  [28, 'AAAA'],
  [52, 'TLSA'],
])

/** Returns the name of a record type: `A`, `MX`, …; for an unsupported type, `TYPE` and the number. */
export function typeName(code: number): string {
  return typeNames.get(code) ?? `TYPE${code}`
}

/** Encodes the response to a query; undefined if there is no response. */
export function encodeResponse(
  request: Packet,
  answer: ZoneAnswer,
  transport: 'udp' | 'tcp',
): Buffer | undefined {
  const { failure } = answer
  if (failure === 'TIMEOUT') return undefined
  const header = writeHeader(request, answer)
  // Write a compression pointer to itself in place of the question's name.
  if (failure === 'GARBAGE')
    return Buffer.concat([codec.encode(header).subarray(0, 12), Buffer.from('c00c', 'hex')])
  const truncated = () => codec.encode({ ...header, flags: header.flags | codec.TRUNCATED_RESPONSE })
  if (failure === 'TRUNCATE' || (answer.truncate && transport === 'udp')) return truncated()
  const { answers, authorities } = answer
  const opt = request.additionals.find((record) => record.type === OPT)
  const bytes = codec.encode({ ...header, answers, authorities, additionals: opt ? [edns] : [] })
  // Without EDNS, a UDP response has at most 512 octets (RFC 1035 §4.2.1).
  const limit = Math.max(512, opt?.class ?? 0)
  return transport === 'udp' && bytes.length > limit ? truncated() : bytes
}

function writeHeader({ header, questions }: Packet, { failure, authentic, rcode }: ZoneAnswer) {
  const { name, type } = questions[0]!
  const vouched = failure !== 'LAME' && failure !== 'REFERRAL'
  const flags =
    (vouched ? codec.AUTHORITATIVE_ANSWER | codec.RECURSION_AVAILABLE : 0) |
    (header.rd ? codec.RECURSION_DESIRED : 0) |
    (authentic ? codec.AUTHENTIC_DATA : 0)
  // The codec accepts unknown types only as `UNKNOWN_` and their number.
  const asked = typeName(type).replace(/^TYPE/, 'UNKNOWN_') as codec.RecordType
  return {
    type: 'response' as const,
    id: failure === 'WRONG-ID' ? header.id ^ 1 : header.id,
    // The codec expects the response code in the low bits of the flags.
    flags: flags | rcode,
    questions: [{ name: failure === 'WRONG-QUESTION' ? `not-${name}` : name, type: asked }],
  }
}
