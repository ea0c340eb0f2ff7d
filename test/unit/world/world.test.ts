import { connect } from 'node:net'
import { once } from 'node:events'
import { createTransport } from 'nodemailer'
import { afterEach, expect, test } from 'vitest'
import { createResolver } from '../../../appliance/dns/resolver.ts'
import { isForbiddenTarget, parseNetworks } from '../../../appliance/wire/networks.ts'
import { on } from '../../world/behaviour.ts'
import { createWorld, type World, type WorldOptions } from '../../world/world.ts'

let world: World
let resolver: ReturnType<typeof createResolver>

afterEach(async () => {
  resolver.close()
  await world.close()
})

async function start(options: WorldOptions): Promise<void> {
  world = await createWorld(options)
  resolver = createResolver({
    servers: world.dnsServers,
    clock: world.clock,
    timeoutMs: 300,
    authoritativePort: world.authoritativePort,
  })
}

async function addressesOf(host: string): Promise<string[]> {
  const answer = await resolver.resolve(host, 'A')
  return answer.kind === 'found' ? answer.records : []
}

test("a test world's zone has the described domains", async () => {
  await start({
    domains: {
      'gmail.test': {
        mx: [
          { preference: 10, host: 'mx1.gmail.test' },
          { preference: 20, host: 'mx2.gmail.test', exchanger: { down: true } },
        ],
        records: { TXT: 'v=spf1 -all' },
      },
      'null.test': { nullMx: true },
      'implicit.test': { implicit: {} },
      'no-mail.test': {},
      'broken-dns.test': { dns: 'SERVFAIL' },
      'broken-mx.test': { mx: [{ preference: 1, host: 'mx.broken-mx.test', exchanger: { dns: 'TIMEOUT' } }] },
    },
    names: { 'extra.test': { A: '192.0.2.1' } },
  })
  const mx = (preference: number, exchange: string) => ({ preference, exchange })
  expect(await resolver.resolve('gmail.test', 'MX')).toMatchObject({
    records: [mx(10, 'mx1.gmail.test'), mx(20, 'mx2.gmail.test')],
  })
  expect(await resolver.resolve('gmail.test', 'TXT')).toMatchObject({ records: ['v=spf1 -all'] })
  expect(await resolver.resolve('null.test', 'MX')).toMatchObject({ records: [mx(0, '')] })
  expect(await resolver.resolve('implicit.test', 'MX')).toMatchObject({ kind: 'absent', why: 'nodata' })
  expect(await addressesOf('implicit.test')).toHaveLength(1)
  expect(await resolver.resolve('no-mail.test', 'A')).toMatchObject({ kind: 'absent', why: 'nodata' })
  expect(await resolver.resolve('broken-dns.test', 'MX')).toMatchObject({ kind: 'failed' })
  expect(await resolver.resolve('mx.broken-mx.test', 'A')).toMatchObject({ kind: 'failed' })
  expect(await resolver.resolve('unheard-of.test', 'MX')).toMatchObject({ kind: 'absent', why: 'nxdomain' })
  expect(await resolver.resolve('extra.test', 'A')).toMatchObject({ records: ['192.0.2.1'] })
  expect(await resolver.resolveAuthoritative('gmail.test', 'TXT')).toMatchObject({ records: ['v=spf1 -all'] })

  const [down] = await addressesOf('mx2.gmail.test')
  const socket = connect(world.deliveryPort, down)
  expect(await once(socket, 'error')).toMatchObject([{ code: 'ECONNREFUSED' }])
  expect(isForbiddenTarget(down!, parseNetworks(world.allowNetworks))).toBe(false)
})

test('all exchangers of a test world share a port, have their own addresses and accept mail', async () => {
  await start({
    domains: {
      'a.test': { mx: [{ preference: 10, host: 'mx.a.test', exchanger: { tls: 'self-signed' } }] },
      'b.test': { mx: [{ preference: 10, host: 'mx.shared.test', exchanger: { deadAddresses: 1 } }] },
      'c.test': { mx: [{ preference: 10, host: 'mx.shared.test' }] },
    },
  })
  const shared = await addressesOf('mx.shared.test')
  expect(shared).toHaveLength(2)
  const deliver = async (host: string, to: string) => {
    const ip = (await addressesOf(host)).at(-1)
    const transport = createTransport({
      host: ip,
      port: world.deliveryPort,
      tls: { rejectUnauthorized: false },
    })
    await transport.sendMail({ from: 'x@y.test', to, subject: 'hi', text: 'there' })
    transport.close()
  }
  await Promise.all([deliver('mx.a.test', 'u@a.test'), deliver('mx.shared.test', 'u@c.test')])
  expect(world.mailboxOf('mx.a.test')[0]).toMatchObject({ envelope: { to: ['u@a.test'] } })
  expect(world.mailboxOf('mx.a.test')[0]!.tls).not.toBeNull()
  expect(world.mailboxOf('mx.shared.test')[0]).toMatchObject({ envelope: { to: ['u@c.test'] }, tls: null })
  expect(() => world.mailboxOf('mx.nowhere.test')).toThrow('the world has no host mx.nowhere.test that is up')
})

test('hosts of a test world behave as configured or scripted, and the zone can be changed', async () => {
  await start({
    domains: {
      'full.test': {
        mx: [{ preference: 1, host: 'mx.full.test', exchanger: { behave: on('rcpt', '452 4.2.2 full') } }],
      },
      'odd.test': {
        mx: [{ preference: 1, host: 'mx.odd.test', exchanger: { script: [{ send: '554 no\r\n' }] } }],
      },
    },
  })
  const [ip] = await addressesOf('mx.full.test')
  const transport = createTransport({ host: ip, port: world.deliveryPort })
  await expect(transport.sendMail({ from: 'x@y.test', to: 'u@full.test', text: 'x' })).rejects.toMatchObject({
    responseCode: 452,
  })
  transport.close()

  const socket = connect(world.deliveryPort, (await addressesOf('mx.odd.test'))[0])
  expect(String(await once(socket, 'data'))).toBe('554 no\r\n')
  socket.destroy()
  expect(world.scripted('mx.odd.test').connections).toHaveLength(1)
  expect(() => world.mailboxOf('mx.odd.test')).toThrow('mx.odd.test is scripted')

  world.dns.set('mx.full.test', 'SERVFAIL')
  await world.clock.advance(301_000)
  expect(await resolver.resolve('mx.full.test', 'A')).toMatchObject({ kind: 'failed' })
})

test('two test worlds can run at once', async () => {
  const domains = { 'a.test': { mx: [{ preference: 1, host: 'mx.a.test' }] } }
  const other = await createWorld({ domains })
  await start({ domains })
  expect(other.dnsServers).not.toEqual(world.dnsServers)
  await other.close()
})
