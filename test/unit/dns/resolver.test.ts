import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Zone } from '../../../appliance/sandbox/zone.ts'
import { freeAddress } from '../../world/addresses.ts'
import { cleanups, noteOf, resolverFor, serve, setUp, SHORT } from './harness.ts'

describe('DNS records', () => {
  test('returns records of each type normalized: lowercase, without the root dot', async () => {
    const { resolver } = await setUp({
      'all.test': {
        A: ['192.0.2.1', '192.0.2.2'],
        AAAA: '2001:DB8:0:0::1',
        MX: [
          { preference: 20, exchange: 'MX2.All.Test' },
          { preference: 10, exchange: 'mx1.all.test.' },
        ],
        TXT: ['v=spf1 -all', 'k=rsa; p=' + 'A'.repeat(600)],
        NS: 'NS1.all.test',
        ttl: 120,
      },
      '1.2.0.192.in-addr.arpa': { PTR: 'Mail.All.test' },
      'alias.test': { CNAME: 'All.Test' },
      '_25._tcp.mx1.all.test': { TLSA: { usage: 3, selector: 1, matching: 1, data: 'ab'.repeat(32) } },
    })
    const found = (records: unknown, ttl = 120) => ({ kind: 'found', records, ttl, authentic: false })
    expect(await resolver.resolve('All.Test.', 'A')).toEqual(found(['192.0.2.1', '192.0.2.2']))
    expect(await resolver.resolve('all.test', 'AAAA')).toEqual(found(['2001:db8::1']))
    expect(await resolver.resolve('all.test', 'MX')).toEqual(
      found([
        { preference: 20, exchange: 'mx2.all.test' },
        { preference: 10, exchange: 'mx1.all.test' },
      ]),
    )
    expect(await resolver.resolve('all.test', 'TXT')).toEqual(
      found(['v=spf1 -all', 'k=rsa; p=' + 'A'.repeat(600)]),
    )
    expect(await resolver.resolve('all.test', 'NS')).toEqual(found(['ns1.all.test']))
    expect(await resolver.resolve('1.2.0.192.in-addr.arpa', 'PTR')).toEqual(found(['mail.all.test'], 300))
    expect(await resolver.resolve('alias.test', 'CNAME')).toEqual(found(['all.test'], 300))
    expect(await resolver.resolve('_25._tcp.mx1.all.test', 'TLSA')).toEqual(
      found([{ usage: 3, selector: 1, matching: 1, data: new Uint8Array(32).fill(0xab) }], 300),
    )
  })

  test('returns a null MX with an empty exchange', async () => {
    const { resolver } = await setUp({ 'null.test': { MX: { preference: 0, exchange: '.' } } })
    expect(await resolver.resolve('null.test', 'MX')).toEqual({
      kind: 'found',
      records: [{ preference: 0, exchange: '' }],
      ttl: 300,
      authentic: false,
    })
  })

  test('drops records with malformed names, and fails if none is left', async () => {
    const { resolver, at } = await setUp({
      'some.test': {
        MX: [
          { preference: 1, exchange: 'bad name.test' },
          { preference: 2, exchange: 'good.test' },
        ],
      },
      'none.test': { MX: { preference: 1, exchange: '<script>.test' } },
    })
    expect(await resolver.resolve('some.test', 'MX')).toMatchObject({
      kind: 'found',
      records: [{ preference: 2, exchange: 'good.test' }],
    })
    expect(noteOf(await resolver.resolve('none.test', 'MX'))).toBe(
      `Cannot look up MX of none.test: DNS server ${at} sent malformed MX records`,
    )
  })

  test('records and their absence are authentic if the AD flag is set', async () => {
    const { resolver } = await setUp({
      'signed.test': { A: '192.0.2.1', authentic: true },
      'half.test': { CNAME: 'unsigned.test', authentic: true },
      'unsigned.test': { A: '192.0.2.2' },
    })
    expect(await resolver.resolve('signed.test', 'A')).toMatchObject({ kind: 'found', authentic: true })
    expect(await resolver.resolve('signed.test', 'MX')).toMatchObject({ kind: 'absent', authentic: true })
    expect(await resolver.resolve('half.test', 'A')).toMatchObject({ kind: 'found', authentic: false })
  })
})

describe('a DNS lookup', () => {
  test('a lookup distinguishes NXDOMAIN from NODATA, also for an empty non-terminal', async () => {
    const { resolver } = await setUp({ 'a.b.test': { A: '192.0.2.1' } })
    const absent = (why: string) => ({ kind: 'absent', why, ttl: 60, authentic: false })
    expect(await resolver.resolve('nope.test', 'MX')).toEqual(absent('nxdomain'))
    expect(await resolver.resolve('a.b.test', 'MX')).toEqual(absent('nodata'))
    expect(await resolver.resolve('b.test', 'MX')).toEqual(absent('nodata'))
  })

  test.each([
    ['SERVFAIL', 'answered SERVFAIL'],
    ['REFUSED', 'answered REFUSED'],
    ['FORMERR', 'answered FORMERR'],
    ['NOTIMP', 'answered NOTIMP'],
    ['GARBAGE', 'sent a malformed answer'],
    ['TRUNCATE', 'sent a truncated answer over TCP'],
    ['TIMEOUT', 'did not respond within 200 ms'],
    ['WRONG-ID', 'did not respond within 200 ms (1 packets that do not match the question were ignored)'],
    [
      'WRONG-QUESTION',
      'did not respond within 200 ms (1 packets that do not match the question were ignored)',
    ],
    ['REFERRAL', 'returned a referral instead of an answer: it does not recurse for this machine'],
    ['LAME', 'is neither recursive nor authoritative, and returned no answer'],
  ] as const)('fails after the server response %s, with a note', async (failure, note) => {
    const { resolver, at } = await setUp({ 'x.test': failure }, {}, SHORT)
    expect(await resolver.resolve('x.test', 'MX')).toEqual({
      kind: 'failed',
      note: `Cannot look up MX of x.test: DNS server ${at} ${note}`,
    })
  })

  test('a lookup fails with a note when nothing listens at the server’s address', async () => {
    const server = await serve({})
    const at = `${server.address}:${server.port}`
    await server.close()
    const { resolver } = resolverFor([at])
    expect(noteOf(await resolver.resolve('x.test', 'A'))).toBe(
      `Cannot look up A of x.test: DNS server ${at} refused the connection: nothing is listening`,
    )
  })

  test.each(['', '.', 'a..test', `${'a'.repeat(64)}.test`, `${'a.'.repeat(127)}test`, 'ü.test', 'a b.test'])(
    'a lookup fails without a query for an invalid domain name: %j',
    async (name) => {
      const { resolver, server } = await setUp({})
      expect(noteOf(await resolver.resolve(name, 'A'))).toMatch(/: that is not a domain name$/)
      expect(server.queries).toEqual([])
    },
  )

  test('a lookup fails when the resolver is closed', async () => {
    const { resolver } = await setUp({ 'x.test': 'TIMEOUT' })
    const answer = resolver.resolve('x.test', 'A')
    resolver.close()
    expect(noteOf(await answer)).toMatch(/the resolver was closed$/)
  })
})

describe('CNAME records', () => {
  const chain: Zone = {
    'a.test': { CNAME: 'b.test', ttl: 50 },
    'b.test': { CNAME: 'c.test', ttl: 40 },
    'c.test': { A: '192.0.2.7', ttl: 300 },
    'dangling.test': { CNAME: 'nowhere.test' },
    'empty.test': { CNAME: 'c.test' },
    'loop1.test': { CNAME: 'loop2.test' },
    'loop2.test': { CNAME: 'loop1.test' },
    ...Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`l${n}.test`, { CNAME: `l${n + 1}.test` }])),
    'l10.test': { A: '192.0.2.8' },
  }

  test.each([true, false])(
    'CNAME records are followed by the resolver or the server (server follows: %s)',
    async (chase) => {
      const { resolver } = await setUp(chain, { chase })
      expect(await resolver.resolve('a.test', 'A')).toEqual({
        kind: 'found',
        records: ['192.0.2.7'],
        alias: 'c.test',
        ttl: 40,
        authentic: false,
      })
      expect(await resolver.resolve('dangling.test', 'A')).toMatchObject({ kind: 'absent', why: 'nxdomain' })
      expect(await resolver.resolve('empty.test', 'MX')).toMatchObject({ kind: 'absent', why: 'nodata' })
      expect(noteOf(await resolver.resolve('loop1.test', 'A'))).toMatch(/form a loop at loop1\.test$/)
      expect(await resolver.resolve('l2.test', 'A')).toMatchObject({ kind: 'found' })
      expect(noteOf(await resolver.resolve('l1.test', 'A'))).toMatch(/more than 8 CNAME records$/)
    },
  )
})

describe('DNS servers', () => {
  test.each(['TIMEOUT', 'SERVFAIL', 'REFUSED', 'GARBAGE', 'REFERRAL'] as const)(
    'queries the next DNS server after %s',
    async (failure) => {
      const bad = await serve({ 'x.test': failure })
      const good = await serve({ 'x.test': { A: '192.0.2.1' } })
      const { resolver } = resolverFor([bad, good], SHORT)
      expect(await resolver.resolve('x.test', 'A')).toMatchObject({ kind: 'found' })
      expect(bad.queries.length).toBeGreaterThan(0)
    },
  )

  test('does not query the next DNS server after NXDOMAIN', async () => {
    const first = await serve({})
    const second = await serve({ 'x.test': { A: '192.0.2.1' } })
    const { resolver } = resolverFor([first, second])
    expect(await resolver.resolve('x.test', 'A')).toMatchObject({ kind: 'absent' })
    expect(second.queries).toEqual([])
  })

  test('queries a DNS server again after a timeout but not after SERVFAIL, and the note names both servers', async () => {
    const silent = await serve({ 'x.test': 'TIMEOUT' })
    const failing = await serve({ 'x.test': 'SERVFAIL' })
    const { resolver } = resolverFor([silent, failing], SHORT)
    expect(noteOf(await resolver.resolve('x.test', 'A'))).toBe(
      `Cannot look up A of x.test: DNS server ${silent.address}:${silent.port} did not respond within 200 ms; ` +
        `DNS server ${failing.address}:${failing.port} answered SERVFAIL`,
    )
    expect([silent.queries.length, failing.queries.length]).toEqual([2, 1])
  })

  test('queries a DNS server again after one lost packet', async () => {
    let lost = 0
    const server = await serve(() => (lost++ === 0 ? 'TIMEOUT' : { A: '192.0.2.1' }))
    const { resolver } = resolverFor([server], SHORT)
    expect(await resolver.resolve('x.test', 'A')).toMatchObject({ kind: 'found' })
  })

  test('queries a DNS server without EDNS support without it', async () => {
    const plain = createSocket('udp4')
    plain.on('message', (query, from) => {
      const response = Buffer.from(query)
      // Returns FORMERR; without the OPT record, an authoritative NXDOMAIN.
      response[2] = query[11] === 1 ? 0x80 : 0x84
      response[3] = query[11] === 1 ? 1 : 3
      plain.send(response, from.port, from.address)
    })
    plain.bind(0, '127.0.0.1')
    await once(plain, 'listening')
    cleanups.push(() => plain.close())
    const { resolver } = resolverFor([`127.0.0.1:${plain.address().port}`])
    expect(await resolver.resolve('x.test', 'A')).toMatchObject({ kind: 'absent', why: 'nxdomain' })
  })

  test('uses TCP for truncated and large answers', async () => {
    const { resolver, server } = await setUp({
      'tc.test': { A: '192.0.2.1', truncate: true },
      'big.test': { TXT: 'x'.repeat(5000) },
    })
    expect(await resolver.resolve('tc.test', 'A')).toMatchObject({ records: ['192.0.2.1'] })
    expect(await resolver.resolve('big.test', 'TXT')).toMatchObject({ records: ['x'.repeat(5000)] })
    expect(server.queries.map((query) => query.transport)).toEqual(['udp', 'tcp', 'udp', 'tcp'])
  })

  test('a DNS server that never answers over TCP causes a timeout', async () => {
    const { resolver, server, at } = await setUp({}, {}, SHORT)
    server.replace(() => (server.queries.at(-1)!.transport === 'tcp' ? 'TIMEOUT' : 'TRUNCATE'))
    expect(noteOf(await resolver.resolve('x.test', 'A'))).toBe(
      `Cannot look up A of x.test: DNS server ${at} did not respond over TCP within 200 ms`,
    )
  })

  test('accepts the right answer after a forged one with a wrong ID', async () => {
    const forger = createSocket('udp4')
    forger.on('message', (query, from) => {
      const right = Buffer.concat([query.subarray(0, 12), query.subarray(12, -11)])
      right.writeUInt16BE(0x8483, 2)
      right.writeUInt16BE(0, 10)
      const forged = Buffer.from(right)
      forged.writeUInt16BE(right.readUInt16BE(0) ^ 0xffff, 0)
      forged.writeUInt16BE(0x8580, 2)
      forger.send(forged, from.port, from.address)
      forger.send(right, from.port, from.address)
    })
    forger.bind(0, '127.0.0.1')
    await once(forger, 'listening')
    cleanups.push(() => forger.close())
    const { resolver } = resolverFor([`127.0.0.1:${forger.address().port}`])
    expect(await resolver.resolve('x.test', 'A')).toMatchObject({ kind: 'absent', why: 'nxdomain' })
  })

  test('ignores an answer from another address', async () => {
    const asked = createSocket('udp4')
    const stranger = createSocket('udp4')
    cleanups.push(
      () => asked.close(),
      () => stranger.close(),
    )
    asked.on('message', (query, from) => {
      const response = Buffer.from(query)
      response.writeUInt16BE(0x8483, 2)
      stranger.send(response, from.port, from.address)
    })
    asked.bind(0, '127.0.0.1')
    await once(asked, 'listening')
    const { resolver } = resolverFor([`127.0.0.1:${asked.address().port}`], SHORT)
    expect(noteOf(await resolver.resolve('x.test', 'A'))).toMatch(/did not respond within 200 ms$/)
  })

  test('queries use varying IDs and source ports', async () => {
    const seen: { id: number; port: number }[] = []
    const listener = createSocket('udp4')
    listener.on('message', (query, from) => {
      seen.push({ id: query.readUInt16BE(0), port: from.port })
      const response = Buffer.from(query)
      response.writeUInt16BE(0x8483, 2)
      listener.send(response, from.port, from.address)
    })
    listener.bind(0, '127.0.0.1')
    await once(listener, 'listening')
    cleanups.push(() => listener.close())
    const { resolver } = resolverFor([`127.0.0.1:${listener.address().port}`])
    await Promise.all(Array.from({ length: 40 }, (_, n) => resolver.resolve(`n${n}.test`, 'A')))
    // 40 out of 65,536 IDs: two duplicate pairs occur once in many thousand runs.
    expect(new Set(seen.map(({ id }) => id)).size).toBeGreaterThan(37)
    expect(new Set(seen.map(({ port }) => port)).size).toBeGreaterThan(37)
  })

  test('reads the DNS servers from the system’s resolv.conf if none are configured', async () => {
    const address = freeAddress()
    const file = join(mkdtempSync(join(tmpdir(), 'resolv-')), 'resolv.conf')
    writeFileSync(file, `nameserver ${address}\n`)
    const { resolver } = resolverFor([], { systemFile: file })
    // Nothing listens on port 53 of that address.
    expect(noteOf(await resolver.resolve('x.test', 'A'))).toBe(
      `Cannot look up A of x.test: DNS server ${address} refused the connection: nothing is listening`,
    )
  })

  test('rejects DNS servers that are not addresses on creation', () => {
    expect(() => resolverFor(['dns.example.com'])).toThrow('dns.servers: "dns.example.com" is not an address')
  })
})
