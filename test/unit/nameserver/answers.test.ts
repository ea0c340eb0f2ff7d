import * as codec from 'dns-packet'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createResolver } from '../../../appliance/dns/resolver.ts'
import { createTestClock } from '../../world/clock.ts'
import { APEX, askTcp, askUdp, edns, framed, KEY, query, startServer, type TestServer } from './harness.ts'

let server: TestServer

beforeAll(async () => {
  server = await startServer()
})

afterAll(() => server.nameserver.close())

const ask = async (...args: Parameters<typeof query>) => {
  const [bytes] = await askUdp(server, [query(...args)])
  return codec.decode(bytes!) as codec.DecodedPacket & { rcode: string }
}
const soaOf = ({ authorities = [] }: codec.DecodedPacket) =>
  authorities.map(({ type, name }) => `${type} ${name}`)

describe('the DNS server', () => {
  test('answers authoritatively and in the case of the question', async () => {
    const answer = await ask(`Short.ACME.${APEX}`, 'TXT')
    expect(answer).toMatchObject({
      id: 4711,
      rcode: 'NOERROR',
      flag_aa: true,
      flag_ra: false,
      flag_tc: false,
    })
    expect(answer.questions).toMatchObject([{ name: `Short.ACME.${APEX}`, type: 'TXT' }])
    expect(answer.answers).toMatchObject([{ name: `Short.ACME.${APEX}`, type: 'TXT', ttl: 300 }])
    expect(answer.authorities).toEqual([])
  })

  test('splits a long text into strings of 255 octets, which our own resolver joins again', async () => {
    const { answers } = await ask(`posthaste1.acme.${APEX}`, 'TXT', edns())
    const [{ data }] = answers as unknown as [{ data: Buffer[] }]
    expect(data.map(({ length }) => length)).toEqual([255, KEY.length - 255])
    const resolver = createResolver({ servers: [`${server.ip}:${server.port}`], clock: createTestClock() })
    try {
      expect(await resolver.resolve(`posthaste1.acme.${APEX}`, 'TXT')).toMatchObject({ records: [KEY] })
    } finally {
      resolver.close()
    }
  })

  test('publishes the records of a delegated subdomain at its apex', async () => {
    expect((await ask('send.acme.test', 'MX')).answers).toMatchObject([
      { type: 'MX', data: { preference: 10, exchange: 'mail.example.com' } },
    ])
    expect((await ask('send.acme.test', 'NS')).answers).toMatchObject([
      { type: 'NS', data: 'mail.example.com' },
    ])
    expect((await ask(APEX, 'SOA')).answers).toMatchObject([
      { type: 'SOA', data: { mname: 'mail.example.com', rname: 'postmaster.mail.example.com', serial: 7 } },
    ])
  })

  test.each([
    ['a missing name', `nobody.${APEX}`, 'TXT', 'NXDOMAIN'],
    ['a missing type', `short.acme.${APEX}`, 'A', 'NOERROR'],
    ['a name that only has names below it (RFC 8020)', `acme.${APEX}`, 'TXT', 'NOERROR'],
    ['any type of such a name', `acme.${APEX}`, 'ANY', 'NOERROR'],
  ] as const)('answers %s with the SOA record and the negative TTL', async (_, name, type, rcode) => {
    const answer = await ask(name, type)
    expect(answer).toMatchObject({ rcode, flag_aa: true, answers: [] })
    expect(soaOf(answer)).toEqual([`SOA ${APEX}`])
    expect(answer.authorities).toMatchObject([{ ttl: 60 }])
  })

  test('answers any type of an alias with the CNAME record', async () => {
    for (const type of ['CNAME', 'A', 'TXT'] as const)
      expect((await ask(`alias.acme.${APEX}`, type)).answers).toMatchObject([
        { type: 'CNAME', data: 'mail.example.com' },
      ])
  })

  test('answers ANY with one small record (RFC 8482)', async () => {
    const [bytes] = await askUdp(server, [query(`posthaste1.acme.${APEX}`, 'ANY')])
    expect(codec.decode(bytes!).answers).toMatchObject([{ type: 'HINFO', data: { cpu: 'RFC8482' } }])
    expect(bytes!.length).toBeLessThan(120)
  })

  test.each([
    ['names outside its zones', 'example.com', 'A', {}],
    ['the name above its zone', 'mail.example.com', 'A', {}],
    ['a name that only ends alike', `x${APEX}`, 'A', {}],
    ['the root', '.', 'NS', {}],
    ['transfers', APEX, 'AXFR', {}],
    ['incremental transfers', APEX, 'IXFR', {}],
  ] as const)('refuses %s', async (_, name, type, options) => {
    const answer = await ask(name, type, options)
    expect(answer).toMatchObject({ rcode: 'REFUSED', flag_aa: false, answers: [], authorities: [] })
  })

  test('refuses other classes, such as version.bind', async () => {
    const questions = [{ name: 'version.bind', type: 'TXT' as const, class: 'CH' as const }]
    expect(await ask('x', 'TXT', { questions })).toMatchObject({ rcode: 'REFUSED', answers: [] })
  })
})

describe('EDNS', () => {
  test('truncates an answer that does not fit, and answers in full over TCP', async () => {
    const name = `posthaste1.acme.${APEX}`
    expect(await ask(name, 'TXT')).toMatchObject({ flag_tc: true, answers: [], additionals: [] })
    expect(await ask(name, 'TXT', edns(100))).toMatchObject({ flag_tc: true, answers: [] })
    expect((await ask(name, 'TXT', edns(65_535))).answers).toHaveLength(1)
    const [answer] = await askTcp(server, framed(query(name, 'TXT')), 1)
    expect(codec.decode(answer!)).toMatchObject({ flag_tc: false, answers: [{ type: 'TXT' }] })
  })

  test('answers an EDNS query with EDNS, the DO bit and its own size, and ignores unknown options', async () => {
    const option = { code: 65_001, data: Buffer.from('x') }
    const answer = await ask(APEX, 'SOA', edns(4096, { flags: 0x8000, flag_do: true, options: [option] }))
    expect(answer.additionals).toMatchObject([
      { type: 'OPT', udpPayloadSize: 1232, flag_do: true, options: [] },
    ])
  })

  test('a query with another EDNS version gets BADVERS', async () => {
    const [bytes] = await askUdp(server, [query(APEX, 'SOA', edns(1232, { ednsVersion: 1 }))])
    const { answers, additionals, ...header } = codec.decode(bytes!)
    expect({ ...header, answers }).toMatchObject({ rcode: 'NOERROR', answers: [] })
    expect(additionals).toMatchObject([{ type: 'OPT', extendedRcode: 1, ednsVersion: 0 }])
  })

  test('a query with two OPT records gets FORMERR', async () => {
    const additionals = [...edns().additionals, ...edns().additionals]
    expect(await ask(APEX, 'SOA', { additionals })).toMatchObject({ rcode: 'FORMERR', questions: [] })
  })
})

test('answers several queries on one TCP connection in order', async () => {
  const names = [`short.acme.${APEX}`, 'example.org', `nobody.${APEX}`]
  const bytes = Buffer.concat(names.map((name) => framed(query(name, 'TXT'))))
  const answers = (await askTcp(server, bytes, 3)).map((one) => codec.decode(one) as { rcode?: string })
  expect(answers.map(({ rcode }) => rcode)).toEqual(['NOERROR', 'REFUSED', 'NXDOMAIN'])
})
