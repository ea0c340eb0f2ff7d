import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createResolver } from '../../../appliance/dns/resolver.ts'
import { startZoneServer, type ZoneRecords, type ZoneServer } from '../../../appliance/sandbox/zone.ts'
import { summarizePropagation } from '../../../appliance/senders/propagation.ts'
import type { DkimKey, Domain } from '../../../appliance/storage/storage.ts'
import { freeAddress } from '../../world/addresses.ts'
import { createTestClock, type TestClock } from '../../world/clock.ts'
import { createPropagationWatch, type Propagation } from '../../../appliance/senders/senders.ts'

/** A zone on two servers, and a recursive server that knows them. */
let first: ZoneServer
let second: ZoneServer
let recursive: ZoneServer
let resolver: ReturnType<typeof createResolver>
let clock: TestClock

const NS = ['ns1.host.test', 'ns2.host.test']
const host = { hostname: 'mail.host.test', sourceIps: ['192.0.2.1'] }
const domain = { id: 'd', name: 'example.test', returnPath: 'send', trackingSubdomain: 'links' } as Domain
const key = { selector: 'posthaste', algorithm: 'rsa-sha256', publicKey: 'MIIBIjANBgkq', state: 'active' }
const DKIM = 'v=DKIM1; k=rsa; p=MIIBIjANBgkq'
const storage = { dkimKeys: async () => [key as DkimKey] }

beforeEach(async () => {
  clock = createTestClock()
  const zone = { 'example.test': { NS } }
  first = await startZoneServer({ zone, chase: false, address: freeAddress() })
  second = await startZoneServer({ zone, chase: false, address: freeAddress(), port: first.port })
  recursive = await startZoneServer({
    zone: {
      'example.test': { NS },
      'ns1.host.test': { A: first.address },
      'ns2.host.test': { A: second.address },
    },
  })
  resolver = createResolver({
    servers: [`${recursive.address}:${recursive.port}`],
    clock,
    timeoutMs: 300,
    authoritativePort: first.port,
  })
})

afterEach(async () => {
  resolver.close()
  await Promise.all([first.close(), second.close(), recursive.close()])
})

/** Publishes on both servers. */
function publish(name: string, records: ZoneRecords): void {
  first.set(name, records)
  second.set(name, records)
}

const watch = () => createPropagationWatch({ storage, resolver, clock, config: host })
const look = () => watch().look(domain)
const recordOf = ({ records }: Propagation, key: string) => records.find((one) => one.expected.key === key)!

describe('a propagating DNS record', () => {
  test('a record is pending, then partial, then verified as name servers serve it', async () => {
    const before = recordOf(await look(), 'DKIM posthaste')
    expect(before).toMatchObject({ zone: 'example.test', status: 'pending' })
    expect(before.note).toMatch(/^Nothing is published at posthaste\._domainkey\.example\.test\./)

    first.set('posthaste._domainkey.example.test', { TXT: DKIM })
    const half = recordOf(await look(), 'DKIM posthaste')
    expect(half.status).toBe('partial')
    expect(half.note).toBe('1 of 2 name servers have it. The others usually follow within minutes.')
    expect(half.servers.map((one) => [one.host, one.status, one.found])).toEqual([
      ['ns1.host.test', 'verified', [DKIM]],
      ['ns2.host.test', 'pending', []],
    ])

    second.set('posthaste._domainkey.example.test', { TXT: DKIM })
    expect(recordOf(await look(), 'DKIM posthaste')).toMatchObject({ status: 'verified', note: null })
  })

  test('a record that is wrong at one server and missing at the other counts as failed', async () => {
    first.set('posthaste._domainkey.example.test', { TXT: 'v=DKIM1; k=rsa; p=AAAA' })
    expect(recordOf(await look(), 'DKIM posthaste').status).toBe('failed')
  })

  test('evaluates a record by the servers that answer; without any answer, it is a temporary failure', async () => {
    publish('posthaste._domainkey.example.test', { TXT: DKIM })
    second.set('posthaste._domainkey.example.test', 'TIMEOUT')
    expect(recordOf(await look(), 'DKIM posthaste').status).toBe('verified')
    first.set('posthaste._domainkey.example.test', 'SERVFAIL')
    expect(recordOf(await look(), 'DKIM posthaste').status).toBe('temporary_failure')
    expect(summarizePropagation([])).toMatchObject({ status: 'temporary_failure' })
  })
})

describe('common DNS mistakes', () => {
  test.each<[string, string, string, ZoneRecords, RegExp]>([
    [
      'a doubled zone name',
      'DKIM posthaste',
      'posthaste._domainkey.example.test.example.test',
      { TXT: DKIM },
      /the DNS panel added the zone to the name\. Enter the name as posthaste\._domainkey\./,
    ],
    [
      'quotes',
      'DKIM posthaste',
      'posthaste._domainkey.example.test',
      { TXT: `"${DKIM}"` },
      /contains quotation marks/,
    ],
    [
      'a value split into two records',
      'DKIM posthaste',
      'posthaste._domainkey.example.test',
      { TXT: ['BIjANBgkq', 'v=DKIM1; k=rsa; p=MII'] },
      /^The value was split into 2 TXT records\./,
    ],
    [
      'two SPF records',
      'SPF',
      'send.example.test',
      { TXT: ['v=spf1 ip4:192.0.2.1 ~all', 'v=spf1 mx ~all'] },
      /^There are 2 SPF records/,
    ],
    [
      'a proxied CNAME',
      'Tracking links.example.test',
      'links.example.test',
      { A: '192.0.2.80' },
      /a proxy is probably active/,
    ],
  ])('identifies %s', async (_, key, name, records, note) => {
    publish(name, records)
    const found = recordOf(await look(), key)
    expect(found.status).toBe('failed')
    expect(found.note).toMatch(note)
  })
})

describe('a propagation check', () => {
  test('concurrent and immediately following requests share a propagation check', async () => {
    const shared = watch()
    const [one, two] = await Promise.all([shared.look(domain), shared.look(domain)])
    expect(two).toBe(one)
    expect(await shared.look(domain)).toBe(one)
    await clock.advance(4000)
    expect(await shared.look(domain)).not.toBe(one)
  })

  test('rejects a propagation check when too many domains are checked at once', async () => {
    const shared = watch()
    const running = Array.from({ length: 8 }, (_, at) => shared.look({ ...domain, id: `${at}` }))
    await expect(shared.look({ ...domain, id: 'one more' })).rejects.toThrow(/Too many attempts/)
    await Promise.all(running)
    await shared.look({ ...domain, id: 'one more' })
  })
})
