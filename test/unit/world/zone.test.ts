import { connect } from 'node:net'
import { Resolver } from 'node:dns/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { startZoneServer, type ZoneServer, type ZoneServerOptions } from '../../../appliance/sandbox/zone.ts'
import { freeAddress } from '../../world/addresses.ts'

let server: ZoneServer | undefined
afterEach(() => server?.close())

/** Starts the server, with Node's own resolver (c-ares) as an independent client. */
async function setUp(zone: ZoneServerOptions['zone'], more: Partial<ZoneServerOptions> = {}) {
  server = await startZoneServer({ zone, ...more })
  const resolver = new Resolver({ timeout: 500, tries: 1 })
  resolver.setServers([
    server.address.includes(':') ? `[${server.address}]:${server.port}` : `${server.address}:${server.port}`,
  ])
  const codeOf = (name: string, type: 'A' | 'MX' | 'TXT' = 'A') =>
    resolver.resolve(name, type).then(
      () => 'found',
      (error: NodeJS.ErrnoException) => error.code,
    )
  return { server, resolver, codeOf }
}

describe('the test zone server', () => {
  test('the zone server answers SERVFAIL when the zone function fails', async () => {
    const { codeOf } = await setUp(() => Promise.reject(new Error('The storage is closed.')))
    expect(await codeOf('x.test')).toBe('ESERVFAIL')
  })

  test('another resolver reads the answers of the zone server correctly for every record type', async () => {
    const { resolver } = await setUp({
      'x.test': {
        A: ['192.0.2.1', '192.0.2.2'],
        AAAA: '2001:db8::1',
        MX: { preference: 10, exchange: 'mx.x.test' },
        TXT: ['a', 'b'.repeat(300)],
        NS: 'ns.x.test',
      },
      '1.2.0.192.in-addr.arpa': { PTR: 'x.test' },
      'www.x.test': { CNAME: 'x.test' },
      '_25._tcp.x.test': { TLSA: { usage: 3, selector: 1, matching: 1, data: '0102' } },
    })
    expect(await resolver.resolve4('x.test')).toEqual(['192.0.2.1', '192.0.2.2'])
    expect(await resolver.resolve6('x.test')).toEqual(['2001:db8::1'])
    expect(await resolver.resolveMx('x.test')).toMatchObject([{ exchange: 'mx.x.test', priority: 10 }])
    const texts = await resolver.resolveTxt('x.test')
    expect(texts).toEqual([['a'], ['b'.repeat(255), 'b'.repeat(45)]])
    expect(await resolver.resolveNs('x.test')).toEqual(['ns.x.test'])
    expect(await resolver.resolvePtr('1.2.0.192.in-addr.arpa')).toEqual(['x.test'])
    expect(await resolver.resolve4('www.x.test')).toEqual(['192.0.2.1', '192.0.2.2'])
    expect(await resolver.resolveCname('www.x.test')).toEqual(['x.test'])
    const [tlsa] = await resolver.resolveTlsa('_25._tcp.x.test')
    expect(tlsa).toMatchObject({ certUsage: 3, selector: 1, match: 1 })
    expect(Buffer.from(tlsa!.data)).toEqual(Buffer.from('0102', 'hex'))
  })

  test('the zone server distinguishes NXDOMAIN from NODATA, also for empty non-terminals', async () => {
    const { codeOf } = await setUp({ 'a.b.test': { A: '192.0.2.1' } })
    expect(await codeOf('nope.test')).toBe('ENOTFOUND')
    expect(await codeOf('x.a.b.test')).toBe('ENOTFOUND')
    expect(await codeOf('b.test')).toBe('ENODATA')
    expect(await codeOf('a.b.test', 'MX')).toBe('ENODATA')
  })

  test('the zone server matches wildcards, but not for existing names and below them', async () => {
    const { codeOf } = await setUp({
      '*.x.test': { A: '192.0.2.1' },
      'host.x.test': { TXT: 'here' },
    })
    expect(await codeOf('any.x.test')).toBe('found')
    expect(await codeOf('any.thing.x.test')).toBe('found')
    expect(await codeOf('any.x.test', 'MX')).toBe('ENODATA')
    expect(await codeOf('host.x.test')).toBe('ENODATA')
    expect(await codeOf('below.host.x.test')).toBe('ENOTFOUND')
    expect(await codeOf('x.test')).toBe('ENODATA')
  })

  test('the zone server fails as configured for a name or one record type', async () => {
    const { codeOf } = await setUp({
      'servfail.test': 'SERVFAIL',
      'refused.test': 'REFUSED',
      'nx.test': 'NXDOMAIN',
      'nodata.test': 'NODATA',
      'timeout.test': 'TIMEOUT',
      'garbage.test': 'GARBAGE',
      'half.test': { A: '192.0.2.1', fail: { MX: 'SERVFAIL' } },
    })
    expect(await codeOf('servfail.test')).toBe('ESERVFAIL')
    expect(await codeOf('refused.test')).toBe('EREFUSED')
    expect(await codeOf('nx.test')).toBe('ENOTFOUND')
    expect(await codeOf('nodata.test')).toBe('ENODATA')
    expect(await codeOf('timeout.test')).toBe('ETIMEOUT')
    expect(['EBADRESP', 'ETIMEOUT']).toContain(await codeOf('garbage.test'))
    expect(await codeOf('half.test')).toBe('found')
    expect(await codeOf('half.test', 'MX')).toBe('ESERVFAIL')
  })

  test('the zone server answers long texts over TCP on the same port, and logs queries', async () => {
    const { resolver, server } = await setUp({ 'long.test': { TXT: 'x'.repeat(4000) } })
    expect((await resolver.resolveTxt('long.test'))[0]!.join('')).toBe('x'.repeat(4000))
    expect(server.queries).toEqual([
      { name: 'long.test', type: 'TXT', transport: 'udp' },
      { name: 'long.test', type: 'TXT', transport: 'tcp' },
    ])
  })

  test('the zone can be changed while the server is running', async () => {
    const { resolver, server, codeOf } = await setUp({})
    server.set('New.test.', { A: '192.0.2.1' })
    expect(await resolver.resolve4('new.test')).toEqual(['192.0.2.1'])
    server.set('new.test', undefined)
    expect(await codeOf('new.test')).toBe('ENOTFOUND')
    server.replace((name, type) => (type === 'A' ? { A: '192.0.2.3' } : { TXT: name }))
    expect(await resolver.resolve4('anything.at.all')).toEqual(['192.0.2.3'])
    expect(await resolver.resolveTxt('anything.at.all')).toEqual([['anything.at.all']])
    expect(() => server.set('x.test', 'SERVFAIL')).toThrow('this zone is a function: use replace()')
  })

  test('the zone server can act as the name server of every existing name', async () => {
    const nameServer = { host: 'ns.world.test', address: '127.9.9.9' }
    const zone = { 'x.test': { A: '192.0.2.1' }, 'alias.test': { CNAME: 'x.test' } }
    const { resolver } = await setUp(zone, { nameServer })
    expect(await resolver.resolveNs('x.test')).toEqual(['ns.world.test'])
    expect(await resolver.resolve4('ns.world.test')).toEqual(['127.9.9.9'])
    expect(await resolver.resolveCname('alias.test')).toEqual(['x.test'])
    await expect(resolver.resolveNs('nope.test')).rejects.toMatchObject({ code: 'ENOTFOUND' })
  })

  test('the zone server listens on a given address and port, and reports when it cannot', async () => {
    const address = freeAddress()
    const { server } = await setUp({}, { address })
    expect(server.address).toBe(address)
    await expect(startZoneServer({ zone: {}, address, port: server.port })).rejects.toMatchObject({
      code: 'EADDRINUSE',
    })
  })

  test('the zone server answers over IPv6', async () => {
    const { resolver } = await setUp({ 'x.test': { A: '192.0.2.1' } }, { address: '::1' })
    expect(await resolver.resolve4('x.test')).toEqual(['192.0.2.1'])
  })

  test('the zone server survives malformed packets, and closes with open connections', async () => {
    const { resolver, server } = await setUp({ 'x.test': { A: '192.0.2.1' } })
    const client = connect(server.port, server.address)
    client.on('error', () => undefined)
    client.write(Buffer.from('000548454c4c4f', 'hex'))
    const idle = connect(server.port, server.address)
    idle.on('error', () => undefined)
    expect(await resolver.resolve4('x.test')).toEqual(['192.0.2.1'])
    await server.close()
    client.destroy()
    idle.destroy()
  })
})
