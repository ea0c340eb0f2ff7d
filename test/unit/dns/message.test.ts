import * as codec from 'dns-packet'
import * as fc from '../../world/fast-check.ts'
import { describe, expect, test } from 'vitest'
import { interpretResponse } from '../../../appliance/dns/interpret.ts'
import { decodeMessage, encodeQuery, isAnswerTo, type Question } from '../../../appliance/dns/message.ts'

const question: Question & { type: 'A' } = { name: 'mx.example.test', type: 'A' }

function response(more: Partial<codec.Packet> = {}): Buffer {
  return codec.encode({
    type: 'response',
    id: 7,
    flags: codec.RECURSION_AVAILABLE,
    questions: [{ name: 'MX.example.test', type: 'A' }],
    answers: [{ name: 'mx.example.test', type: 'A', ttl: 60, data: '192.0.2.1' }],
    ...more,
  })
}

const read = (bytes: Buffer) => interpretResponse(decodeMessage(bytes), question)

/** The offset of the only record's RDLENGTH: after the header, the question and the uncompressed owner name. */
const rdlengthAt = 12 + 17 + 4 + 17 + 8

describe('a DNS query', () => {
  test('a query sets RD and AD, and offers 1232 bytes with EDNS', () => {
    const { id, bytes } = encodeQuery(question, { recursion: true, edns: true })
    const decoded = codec.decode(bytes)
    expect(decoded).toMatchObject({ id, type: 'query', flag_rd: true, flag_ad: true })
    expect(decoded.questions).toEqual([{ name: 'mx.example.test', type: 'A', class: 'IN' }])
    expect(decoded.additionals).toMatchObject([{ type: 'OPT', udpPayloadSize: 1232, flag_do: false }])
  })

  test('a query to an authoritative server does not set RD', () => {
    const { bytes } = encodeQuery(question, { recursion: false, edns: false })
    expect(codec.decode(bytes)).toMatchObject({ flag_rd: false, additionals: [] })
  })
})

describe('isAnswerTo', () => {
  const fits = (bytes: Buffer) => isAnswerTo(decodeMessage(bytes), 7, question)
  test('requires the same ID, name in any case, type and class', () => {
    expect(fits(response())).toBe(true)
    expect(fits(response({ id: 8 }))).toBe(false)
    expect(fits(response({ type: 'query' }))).toBe(false)
    expect(fits(response({ questions: [{ name: 'other.example.test', type: 'A' }] }))).toBe(false)
    expect(fits(response({ questions: [{ name: 'mx.example.test', type: 'MX' }] }))).toBe(false)
    expect(fits(response({ questions: [{ name: 'mx.example.test', type: 'A', class: 'CH' }] }))).toBe(false)
  })

  test('accepts a missing question in an error, but not in an answer', () => {
    expect(fits(response({ questions: [], answers: [], flags: 1 }))).toBe(true)
    expect(fits(response({ questions: [] }))).toBe(false)
    expect(fits(response({ questions: [], answers: [], flags: codec.RECURSION_AVAILABLE | 3 }))).toBe(false)
  })
})

describe('a DNS response', () => {
  test('returns the records of a DNS response', () => {
    expect(read(response())).toEqual({ kind: 'found', records: ['192.0.2.1'], ttl: 60, authentic: false })
  })

  test('rejects a response with a wrong RDLENGTH, without reading records from the following bytes', () => {
    const bytes = response()
    bytes.writeUInt16BE(3, rdlengthAt)
    expect(read(bytes.subarray(0, -1))).toEqual({
      kind: 'failed',
      note: 'sent malformed A records',
    })
    bytes.writeUInt16BE(400, rdlengthAt)
    expect(() => decodeMessage(bytes)).toThrow('a record runs past the end')
  })

  test('ignores records of other names, classes and types in a response', () => {
    const answers: codec.Answer[] = [
      { name: 'other.test', type: 'A', data: '192.0.2.66' },
      { name: 'mx.example.test', type: 'A', class: 'CH', data: '192.0.2.66' },
      { name: 'mx.example.test', type: 'NULL', data: Buffer.from('x') },
    ]
    expect(read(response({ answers }))).toMatchObject({ kind: 'absent', why: 'nodata', ttl: 0 })
  })

  test('a TTL with the top bit set counts as zero', () => {
    const answers: codec.Answer[] = [
      { name: 'mx.example.test', type: 'A', ttl: 0x8000_0001, data: '192.0.2.1' },
    ]
    expect(read(response({ answers }))).toMatchObject({ kind: 'found', ttl: 0 })
  })

  test('a response with BADVERS in the OPT record is a failure', () => {
    const opt: codec.OptAnswer = {
      type: 'OPT',
      name: '.',
      udpPayloadSize: 1232,
      extendedRcode: 1,
      ednsVersion: 0,
      flags: 0,
      flag_do: false,
      options: [],
    }
    expect(read(response({ answers: [], additionals: [opt] }))).toEqual({
      kind: 'failed',
      note: 'answered BADVERS',
    })
  })

  test('a response of NXDOMAIN with records is a failure', () => {
    expect(read(response({ flags: codec.RECURSION_AVAILABLE | 3 }))).toEqual({
      kind: 'failed',
      note: 'returned NXDOMAIN together with records',
    })
  })

  test('a response of NXDOMAIN counts only from a recursive or authoritative server', () => {
    expect(read(response({ flags: 3, answers: [] }))).toMatchObject({ kind: 'failed' })
    expect(read(response({ flags: codec.AUTHORITATIVE_ANSWER | 3, answers: [] }))).toMatchObject({
      kind: 'absent',
      why: 'nxdomain',
    })
  })

  test('the TTL of a response without records is the smaller of the SOA record’s TTL and MINIMUM', () => {
    const soa = (ttl: number, minimum: number): codec.Answer => ({
      name: 'example.test',
      type: 'SOA',
      ttl,
      data: { mname: 'ns.example.test', rname: 'root.example.test', minimum },
    })
    expect(read(response({ answers: [], authorities: [soa(300, 60)] }))).toMatchObject({ ttl: 60 })
    expect(read(response({ answers: [], authorities: [soa(30, 60)] }))).toMatchObject({ ttl: 30 })
  })
})

describe('the DNS message parser', () => {
  test('parsing random bytes returns a message or throws an Error', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 600 }), (random) => {
        const bytes = Buffer.from(random)
        try {
          const message = decodeMessage(bytes)
          interpretResponse(message, question)
          // Random bytes don't pass as the answer to a question that they don't contain.
          if (isAnswerTo(message, 7, question)) {
            expect(bytes.readUInt16BE(0)).toBe(7)
            expect(message.question === undefined).toBe(message.rcode !== 0 && message.rcode !== 3)
          }
        } catch (error) {
          expect(error).toBeInstanceOf(Error)
        }
      }),
      { numRuns: 3000 },
    )
  })

  test('parsing a valid message with changed bytes returns a valid result or throws an Error', () => {
    const good = response({
      answers: [
        { name: 'mx.example.test', type: 'CNAME', ttl: 60, data: 'a.test' },
        { name: 'a.test', type: 'A', ttl: 60, data: '192.0.2.1' },
        { name: 'a.test', type: 'TXT', ttl: 60, data: ['some', 'text'] },
      ],
    })
    const change = fc.tuple(fc.nat(good.length - 1), fc.nat(255))
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 6 }), fc.nat(good.length), (changes, cut) => {
        const bytes = Buffer.from(good)
        for (const [at, value] of changes) bytes[at] = value
        for (const each of [bytes, bytes.subarray(0, cut)]) {
          try {
            const reading = interpretResponse(decodeMessage(each), question)
            expect(['found', 'absent', 'alias', 'failed']).toContain(reading.kind)
            if (reading.kind === 'found') expect(reading.records.length).toBeGreaterThan(0)
          } catch (error) {
            expect(error).toBeInstanceOf(Error)
          }
        }
      }),
      { numRuns: 2000 },
    )
  })

  test('rejects a message with thousands of declared records before reading them', () => {
    const bytes = response()
    bytes.writeUInt16BE(60_000, 8)
    expect(() => decodeMessage(bytes)).toThrow('too many records')
  })
})
