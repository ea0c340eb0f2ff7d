import * as codec from 'dns-packet'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createCookies } from '../../../appliance/nameserver/cookies.ts'
import { parseQuery } from '../../../appliance/nameserver/query.ts'
import { createResponseLimiter } from '../../../appliance/nameserver/rate-limit.ts'
import * as fc from '../../world/fast-check.ts'
import { APEX, askTcp, askUdp, edns, framed, query, startServer, type TestServer } from './harness.ts'

let server: TestServer

beforeEach(async () => {
  server = await startServer(4)
})

afterEach(() => server.nameserver.close())

const plain = query(`short.acme.${APEX}`, 'TXT')
/** The packet with other octets at some offsets. */
const changed = (octets: Record<number, number>, packet = plain): Buffer => {
  const bytes = Buffer.from(packet)
  for (const [at, octet] of Object.entries(octets)) bytes[Number(at)] = octet
  return bytes
}
/** What a packet gets, followed by a good query that shows that the server still answers. */
const codeOf = async (packet: Buffer): Promise<number | 'nothing'> => {
  const responses = await askUdp(server, [packet, changed({ 1: 9 })], parsesToNothing(packet) ? 1 : 2)
  return responses.length === 1 ? 'nothing' : responses[0]![3]! & 0xf
}
const parsesToNothing = (packet: Buffer): boolean => parseQuery(packet).kind === 'drop'

describe('a malformed packet', () => {
  test.each([
    ['a response', changed({ 2: 0x80 }), 'nothing'],
    ['a short header', plain.subarray(0, 11), 'nothing'],
    ['nothing at all', Buffer.alloc(0), 'nothing'],
    ['another opcode', changed({ 2: 0x28 }), 4],
    ['no question', changed({ 5: 0 }), 1],
    ['two questions', changed({ 5: 2 }), 1],
    ['an answer', changed({ 7: 1 }), 1],
    ['a compression pointer to itself', changed({ 12: 0xc0, 13: 12 }), 1],
    ['a label past the end', changed({ 12: 63 }), 1],
    ['a truncated question', plain.subarray(0, plain.length - 1), 1],
    ['octets after the end', Buffer.concat([plain, Buffer.from([0])]), 1],
    ['additional records that are not there', changed({ 11: 1 }), 1],
    ['thousands of additional records', changed({ 10: 255, 11: 255 }), 1],
  ] as const)('with %s is refused or ignored', async (_, packet, expected) => {
    expect(await codeOf(packet)).toBe(expected)
  })

  test('a malformed packet never causes an exception', () => {
    const start = fc.constantFrom(plain, query(APEX, 'SOA', edns()), Buffer.alloc(12))
    fc.assert(
      fc.property(
        start,
        fc.array(fc.tuple(fc.nat(80), fc.nat(255))),
        fc.uint8Array(),
        (packet, octets, more) => {
          const bytes = Buffer.concat([changed(Object.fromEntries(octets), packet), more])
          const parsed = parseQuery(bytes)
          if (parsed.kind === 'query') expect(parsed.query.name.length).toBeLessThanOrEqual(4 * 255)
        },
      ),
      { numRuns: 3000 },
    )
  })

  test('a malformed packet or an impossible length ends the connection', async () => {
    expect(await askTcp(server, framed(changed({ 2: 0x80 })), 1)).toEqual([])
    expect(await askTcp(server, Buffer.from([0xff, 0xff]), 1)).toEqual([])
    expect(await askTcp(server, framed(plain), 1)).toHaveLength(1)
  })

  test('a name with dots and zeros in a label matches no name of ours', async () => {
    const name = Buffer.from([5, 97, 46, 98, 0, 92, ...codec.encode({ questions: [] }).subarray(12)])
    const end = Buffer.from([
      ...APEX.split('.').flatMap((one) => [one.length, ...Buffer.from(one)]),
      0,
      0,
      16,
      0,
      1,
    ])
    const packet = Buffer.concat([plain.subarray(0, 12), name, end])
    const [response] = await askUdp(server, [packet])
    expect(codec.decode(response!)).toMatchObject({ rcode: 'NXDOMAIN' })
  })
})

describe('a flood', () => {
  test('a flood from one network gets fewer and smaller responses, never larger than the query', async () => {
    const flood = Array.from({ length: 400 }, (_, at) => changed({ 0: at >> 8, 1: at & 255 }))
    const sizes: number[] = []
    for (let at = 0; at < flood.length; at += 50) {
      await askUdp(server, flood.slice(at, at + 50), 1).then((some) =>
        sizes.push(...some.map(({ length }) => length)),
      )
      await expect.poll(() => server.counted.length).toBe(at + 50)
    }
    expect(server.counted.filter((one) => one === 'limited').length).toBeGreaterThan(200)
  })

  test('responses over the limit are dropped or truncated in turn, without affecting other networks', () => {
    const limit = createResponseLimiter()
    const many = (network: string, now: number, n: number) =>
      Array.from({ length: n }, () => limit.permit(network, now))
    expect(new Set(many('192.0.2', 0, 100))).toEqual(new Set(['send']))
    expect(many('192.0.2', 0, 4)).toEqual(['drop', 'truncate', 'drop', 'truncate'])
    expect(many('198.51.100', 0, 1)).toEqual(['send'])
    expect(many('192.0.2', 1000, 21).filter((one) => one === 'send')).toHaveLength(20)
  })

  test('forgets networks instead of growing without limit', () => {
    const limit = createResponseLimiter()
    for (let n = 0; n < 50_000; n++) limit.permit(`net${n}`, 0)
    for (let n = 0; n < 101; n++) limit.permit('first', 0)
    expect(limit.permit('first', 0)).not.toBe('send')
  })

  test('limits connections', async () => {
    const idle = await Promise.all(
      Array.from({ length: 3 }, async () => {
        const { connect } = await import('node:net')
        const socket = connect({ host: server.ip, port: server.port })
        socket.on('error', () => undefined)
        return socket
      }),
    )
    await expect.poll(async () => (await askTcp(server, framed(plain), 1)).length).toBe(0)
    for (const socket of idle) socket.destroy()
    await expect.poll(async () => (await askTcp(server, framed(plain), 1)).length).toBe(1)
  })
})

describe('cookies', () => {
  const T0 = Date.UTC(2026, 0, 1)
  const client = Buffer.alloc(8, 7)

  test('a cookie proves an address for an hour, to every node with the secret', () => {
    const [one, two] = [createCookies(Buffer.alloc(32, 1)), createCookies(Buffer.alloc(32, 1))]
    const first = one.answer(client, '192.0.2.1', T0)
    expect(first).toMatchObject({ proven: false })
    expect(first.option).toHaveLength(24)
    const at = (ip: string, ms: number, option = first.option) => two.answer(option, ip, T0 + ms).proven
    expect(at('192.0.2.1', 3_600_000)).toBe(true)
    expect(at('192.0.2.1', 3_601_000)).toBe(false)
    expect(at('192.0.2.1', -400_000)).toBe(false)
    expect(at('192.0.2.2', 0)).toBe(false)
    expect(at('192.0.2.1', 0, changed({ 0: 1 }, first.option))).toBe(false)
    expect(createCookies(Buffer.alloc(32, 2)).answer(first.option, '192.0.2.1', T0).proven).toBe(false)
  })

  test('a cookie exempts a client from the response limit', async () => {
    const withCookie = (data: Buffer) =>
      query(`short.acme.${APEX}`, 'TXT', edns(1232, { options: [{ code: 10, data }] }))
    const [response] = await askUdp(server, [withCookie(client)])
    const { additionals } = codec.decode(response!) as unknown as {
      additionals: { options: { code: number; data: Buffer }[] }[]
    }
    const cookie = additionals[0]!.options.find(({ code }) => code === 10)!.data
    for (let round = 0; round < 8; round++)
      expect(
        await askUdp(
          server,
          Array.from({ length: 25 }, () => withCookie(cookie)),
        ),
      ).toHaveLength(25)
    expect(server.counted).not.toContain('limited')
  })

  test('a cookie of the wrong length is malformed', async () => {
    const packet = query(APEX, 'SOA', edns(1232, { options: [{ code: 10, data: Buffer.alloc(9) }] }))
    const [response] = await askUdp(server, [packet])
    expect(codec.decode(response!)).toMatchObject({ rcode: 'FORMERR' })
  })
})
