import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { systemClock } from '../../../appliance/clock/clock.ts'
import { createResolver } from '../../../appliance/dns/resolver.ts'
import { createPublicMx } from '../../../appliance/inbound/public-mx.ts'
import { createDnsbl, type DnsblDeps } from '../../../appliance/inbound/dnsbl.ts'
import type { ResolvedRecipient, MailReceiver } from '../../../appliance/inbound/inbound.ts'
import { parseMailbox } from '../../../appliance/mail/address.ts'
import { parseNetworks } from '../../../appliance/wire/networks.ts'
import { createTestClock } from '../../world/clock.ts'
import { createWorld, type World } from '../../world/world.ts'

let world: World
let closing: (() => void)[] = []

beforeAll(async () => {
  world = await createWorld({ domains: {} })
})
afterEach(() => {
  for (const close of closing) close()
  closing = []
})
afterAll(() => world.close())

/** Creates blocklists that ask the fake DNS. Returns what they count, too. */
function open(change: Partial<DnsblDeps> = {}) {
  const resolver = createResolver({ servers: world.dnsServers, clock: systemClock })
  closing.push(() => resolver.close())
  const counted: string[] = []
  const count = (zone: string, result: string) => void counted.push(`${zone} ${result}`)
  const zones = ['one.test', 'two.test']
  return { counted, dnsbl: createDnsbl({ resolver, clock: systemClock, zones, allow: [], count, ...change }) }
}

test.each([
  ['9.9.9.1', '1.9.9.9', ['127.0.0.2'], 'listed'],
  ['9.9.9.2', '2.9.9.9', ['127.0.0.1'], 'failed'],
  ['9.9.9.3', '3.9.9.9', ['127.255.255.254'], 'failed'],
  ['9.9.9.4', '4.9.9.9', ['203.0.113.9'], 'failed'],
  ['9.9.9.5', '5.9.9.9', undefined, 'clear'],
])('for %s, looking up %s with the answer %j counts as %s', async (ip, labels, codes, result) => {
  world.dns.set(`${labels}.two.test`, codes ? { A: codes } : 'NXDOMAIN')
  const { dnsbl, counted } = open()
  expect(await dnsbl.listedBy(ip)).toBe(result === 'listed' ? 'two.test' : null)
  expect(counted.toSorted()).toEqual(['one.test clear', `two.test ${result}`])
})

test('an IPv6 address is looked up by its reversed nibbles', async () => {
  const labels = `7${'.0'.repeat(23)}.e.f.0.0.0.2.6.2`
  world.dns.set(`${labels}.one.test`, { A: ['127.0.0.4'] })
  expect(await open().dnsbl.listedBy('2620:fe::7')).toBe('one.test')
  const allowed = open({ allow: parseNetworks(['2620:fe::/32']) })
  expect(await allowed.dnsbl.listedBy('2620:fe::7')).toBe(null)
  expect(allowed.counted).toEqual([])
})

test('allowed and private addresses are not looked up', async () => {
  world.dns.set('6.9.9.9.one.test', { A: ['127.0.0.2'] })
  const { dnsbl, counted } = open({ allow: parseNetworks(['9.9.9.0/24']) })
  for (const ip of ['9.9.9.6', '127.0.0.1', '10.0.0.1', '::1']) expect(await dnsbl.listedBy(ip)).toBe(null)
  expect(counted).toEqual([])
})

test('a zone that fails or times out does not count as listed', async () => {
  world.dns.set('7.9.9.9.one.test', 'SERVFAIL')
  expect(await open().dnsbl.listedBy('9.9.9.7')).toBe(null)
  const clock = createTestClock()
  const silent = open({
    clock,
    resolver: { resolve: () => new Promise(() => undefined) },
    zones: ['one.test'],
  })
  const listed = silent.dnsbl.listedBy('9.9.9.8')
  await clock.advance(3000)
  expect(await listed).toBe(null)
  expect(silent.counted).toEqual(['one.test failed'])
})

test('a listed server is rejected by receiving domains with the name of the zone, but may return bounces', async () => {
  const nobody = { emailId: null, proven: false, receiver: null, reported: null }
  const receiver = { teamId: 't', domainId: 'd', status: 'verified' as const, rules: [] }
  const addressee: MailReceiver['addressee'] = ({ address, local }) =>
    Promise.resolve<ResolvedRecipient>({ ...nobody, address, receiver: local === 'ada' ? receiver : null })
  const inbound = { addressee, limitOf: () => 1000, receivedBytes: 1000 } as unknown as MailReceiver
  const door = createPublicMx(inbound, { listedBy: () => Promise.resolve('one.test') })
  const client = { helo: 'x', extended: true, tls: null, trusted: false, caller: null }
  const arriving = await door.begin(
    { ip: '9.9.9.9', ...client },
    { from: null, smtpUtf8: false, requireTls: false, size: 0, dsn: { ret: null, envid: null } },
  )
  const rcpt = (address: string) =>
    arriving.rcpt({ mailbox: parseMailbox(address)!, dsn: { notify: null, orcpt: null } })
  await expect(async () => rcpt('ada@in.test')).rejects.toThrow(
    '9.9.9.9 is listed by one.test. Request removal from that list.',
  )
  await rcpt('bounce@in.test')
})
