import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Domain } from '../../appliance/api/domains.ts'
import { createResolver } from '../../appliance/dns/resolver.ts'
import { freeAddress } from '../world/addresses.ts'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { PATIENCE } from '../world/patience.ts'
import { startUnbound, type Unbound } from '../world/unbound.ts'
import { createWorld, type World } from '../world/world.ts'

/** The DNS server of a daemon, asked by Debian's dig, and through unbound. */

const ZONE = 'keys.dns.mail.sender.test'
const execute = promisify(execFile)

let world: World
let appliance: TestAppliance
let domain: Domain
let ip: string
let port: string
let unbound: Unbound

beforeAll(async () => {
  world = await createWorld({ domains: {} })
  const nameserver = { zone: ZONE, listen: [`${freeAddress()}:0`], names: [], rotate_days: 90 }
  const metrics = { listen: ['127.0.0.1:0'] }
  appliance = await startAppliance({ world, config: { nameserver, metrics } })
  const [address] = appliance.appliance.dns
  ;[ip, port] = address!.split(':') as [string, string]
  const body = { name: 'acme.test', delegation: 'ns', tracking_subdomain: 'links.send' }
  const added = await appliance.call<Domain>('POST', '/domains', body)
  domain = added.body
  // The zones are read from the storage after a while.
  await vi.waitUntil(
    async () => {
      await world.clock.advance(3_600_000)
      return (await dig('send.acme.test', 'MX')).status === 'NOERROR'
    },
    { timeout: PATIENCE },
  )
  const own = [...domain.records, ...domain.recommended_records].filter(({ served }) => !served)
  unbound = await startUnbound({
    zones: {
      'acme.test': own
        .filter(({ type }) => type === 'CNAME')
        .map(({ fqdn, value }) => `${fqdn}. IN CNAME ${value}.`),
    },
    delegated: { server: address!, names: [ZONE, 'send.acme.test'] },
    until: { name: `posthaste1._domainkey.acme.test`, type: 'TXT' },
  })
})

afterAll(async () => {
  await unbound.close()
  await appliance.close()
  await world.close()
})

/** Runs dig and reads its status, flags and sections. */
async function dig(name: string, type: string, ...options: string[]) {
  const at = [`@${ip}`, '-p', port, '+tries=1', '+time=5', '+noall', '+comments', '+answer', '+authority']
  const { stdout } = await execute('dig', [...at, ...options, name, type])
  const records = stdout.split('\n').filter((line) => line !== '' && !line.startsWith(';'))
  return {
    status: /status: (\w+)/.exec(stdout)?.[1],
    flags: /flags: ([\w ]*);/.exec(stdout)?.[1]?.split(' ') ?? [],
    records: records.map((line) => line.split(/\s+/)),
    text: stdout,
  }
}

describe('queries with dig', () => {
  test('dig gets the records of the zone and of the delegated subdomain, authoritative and without recursion', async () => {
    const soa = await dig(ZONE, 'SOA')
    expect(soa).toMatchObject({ status: 'NOERROR' })
    expect(soa.flags).toContain('aa')
    expect(soa.flags).not.toContain('ra')
    expect(soa.text).not.toMatch(/malformed|warning: (?!recursion)/i)
    expect(soa.records[0]!.slice(3, 6)).toEqual(['SOA', 'mail.sender.test.', 'postmaster.mail.sender.test.'])
    expect((await dig('send.acme.test', 'NS')).records[0]!.slice(3)).toEqual(['NS', 'mail.sender.test.'])
    expect((await dig('send.acme.test', 'MX')).records[0]!.slice(3)).toEqual([
      'MX',
      '10',
      'mail.sender.test.',
    ])
    expect((await dig('send.acme.test', 'TXT')).text).toMatch(/"v=spf1 .*~all"/)
    expect((await dig('links.send.acme.test', 'A')).text).toMatch(/CNAME\s+mail\.sender\.test\./)
    expect((await dig('_smtp._tls.send.acme.test', 'TXT')).text).toMatch(/"v=TLSRPTv1; rua=mailto:/)
  })

  test('dig gets a long key over UDP and TCP, and over TCP after a truncated answer', async () => {
    const name = `posthaste1.${domain.id}.${ZONE}`
    const key = domain.dkim_keys.find(({ selector }) => selector === 'posthaste1')!.value
    const whole = ({ text }: { text: string }) => text.replaceAll('" "', '')
    expect(whole(await dig(name, 'TXT'))).toContain(key)
    expect(whole(await dig(name, 'TXT', '+tcp'))).toContain(key)
    expect(whole(await dig(name, 'TXT', '+noedns'))).toContain(key)
    const cut = await dig(name, 'TXT', '+noedns', '+ignore')
    expect(cut.flags).toContain('tc')
    expect(cut.records).toEqual([])
  })

  test('dig gets NXDOMAIN, no data, REFUSED and BADVERS for the respective queries', async () => {
    const status = async (...args: Parameters<typeof dig>) => (await dig(...args)).status
    expect(await status(`nobody.${ZONE}`, 'TXT')).toBe('NXDOMAIN')
    expect(await dig(`${domain.id}.${ZONE}`, 'TXT')).toMatchObject({ status: 'NOERROR' })
    expect((await dig(`${domain.id}.${ZONE}`, 'TXT')).records[0]![3]).toBe('SOA')
    expect(await status('example.org', 'A')).toBe('REFUSED')
    expect(await status('version.bind', 'TXT', '-c', 'CH')).toBe('REFUSED')
    expect(await status(ZONE, 'SOA', '+edns=1', '+noednsnegotiation')).toBe('BADVERS')
    expect((await dig(ZONE, 'ANY')).text).toMatch(/HINFO\s+"RFC8482"/)
    const { stdout } = await execute('dig', [`@${ip}`, '-p', port, '+tries=1', ZONE, 'AXFR'])
    expect(stdout).toContain('Transfer failed')
  })
})

describe('unbound', () => {
  const resolver = () => createResolver({ servers: [unbound.server], clock: world.clock })

  test('unbound finds the keys through the aliases, and the records below the delegation', async () => {
    const one = resolver()
    try {
      for (const { fqdn, value } of domain.dkim_keys)
        expect(await one.resolve(fqdn, 'TXT')).toMatchObject({ kind: 'found', records: [value] })
      expect(await one.resolve('send.acme.test', 'MX')).toMatchObject({
        records: [{ preference: 10, exchange: 'mail.sender.test' }],
      })
      expect(await one.resolve('send.acme.test', 'TXT')).toMatchObject({
        records: [expect.stringMatching(/^v=spf1 /)],
      })
    } finally {
      one.close()
    }
  })

  test('unbound gets valid negative answers for names and types that do not exist', async () => {
    const one = resolver()
    try {
      expect(await one.resolve(`nobody.${ZONE}`, 'TXT')).toMatchObject({ kind: 'absent', why: 'nxdomain' })
      expect(await one.resolve('send.acme.test', 'AAAA')).toMatchObject({ kind: 'absent', why: 'nodata' })
      expect(await one.resolve(`${domain.id}.${ZONE}`, 'TXT')).toMatchObject({
        kind: 'absent',
        why: 'nodata',
      })
    } finally {
      one.close()
    }
  })
})

test('counts DNS queries by transport and result', async () => {
  const counted = async (transport: string, result: string): Promise<number> => {
    const text = await (await fetch(`${appliance.appliance.metrics[0]}/metrics`)).text()
    const series = `posthaste_dns_queries_total{transport="${transport}",result="${result}"} `
    const found = text.split('\n').find((one) => one.startsWith(series))
    return Number(found?.slice(series.length) ?? 0)
  }
  const [answered, refused] = [await counted('tcp', 'NOERROR'), await counted('tcp', 'REFUSED')]
  await dig(ZONE, 'SOA', '+tcp')
  await dig(ZONE, 'NS', '+tcp')
  await dig('example.org', 'A', '+tcp')
  await expect.poll(() => counted('tcp', 'NOERROR')).toBe(answered + 2)
  await expect.poll(() => counted('tcp', 'REFUSED')).toBe(refused + 1)
})
