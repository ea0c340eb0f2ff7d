import { describe, expect, test } from 'vitest'
import { systemClock } from '../../../appliance/clock/clock.ts'
import type { Answer, RecordType } from '../../../appliance/dns/dns.ts'
import { createRecorder } from '../../../appliance/delivery/recorder.ts'
import { type Route, route } from '../../../appliance/delivery/route.ts'
import { createSources, hasGlobalIpv6 } from '../../../appliance/delivery/sources.ts'
import { parseNetworks } from '../../../appliance/wire/networks.ts'
import type { Step } from '../../../appliance/mail/transcript.ts'

/** Names of a small internet: `fail` for SERVFAIL, a missing name for NXDOMAIN, a missing type for no data. */
type Zone = Record<
  string,
  'fail' | { MX?: [number, string][]; A?: string[] | 'fail'; AAAA?: string[] | 'fail' }
>

const asked: string[] = []
function resolve<T extends RecordType>(zone: Zone, name: string, type: T): Answer<T> {
  asked.push(`${type} ${name}`)
  const node = zone[name]
  if (node === undefined) return { kind: 'absent', why: 'nxdomain', ttl: 60, authentic: false }
  if (node === 'fail') return { kind: 'failed', note: 'SERVFAIL' }
  const records: unknown = node[type as 'MX' | 'A' | 'AAAA']
  if (records === undefined) return { kind: 'absent', why: 'nodata', ttl: 60, authentic: false }
  if (records === 'fail') return { kind: 'failed', note: 'timeout' }
  const shaped =
    type === 'MX'
      ? (records as [number, string][]).map(([preference, exchange]) => ({ preference, exchange }))
      : records
  return { kind: 'found', records: shaped as never, ttl: 60, authentic: false }
}

interface Options {
  domain?: string
  hostname?: string
  allow?: string[]
  sourceIps?: string[]
  ipv6?: boolean
  random?: () => number
}

async function find(zone: Zone, options: Options = {}): Promise<{ route: Route; steps: Step[] }> {
  const recorder = createRecorder(systemClock, systemClock.now())
  const found = await route(options.domain ?? 'example.org', recorder, {
    resolver: { resolve: async (name, type) => resolve(zone, name, type) },
    random: options.random ?? (() => 0.999), // keeps the order of equals
    hostname: options.hostname ?? 'mail.sender.test',
    allowNetworks: parseNetworks(options.allow ?? []),
    sources: createSources(options.sourceIps ?? [], options.ipv6 ?? true),
  })
  return { route: found, steps: recorder.steps }
}

/** `name ip ip` of each host; or `kind status` of the failure. */
async function outline(zone: Zone, options?: Options): Promise<string[] | string> {
  const { route: found } = await find(zone, options)
  if (found.kind === 'found') return found.hosts.map(({ name, addresses }) => [name, ...addresses].join(' '))
  return [found.failure.kind, found.failure.status].filter(Boolean).join(' ')
}

const a = '93.184.1.1'
const b = '93.184.1.2'
const v6 = '2a00:1450::1'
const mx = (...names: [number, string][]) => ({ MX: names })

describe('the mail exchangers', () => {
  test('are tried in the order of their preference', async () => {
    const zone: Zone = {
      'example.org': mx([20, 'b.test'], [10, 'a.test']),
      'a.test': { A: [a] },
      'b.test': { A: [b] },
    }
    expect(await outline(zone)).toEqual([`a.test ${a}`, `b.test ${b}`])
  })

  test('of equal preference are shuffled by the dice', async () => {
    const zone: Zone = {
      'example.org': mx([10, 'a.test'], [10, 'b.test']),
      'a.test': { A: [a] },
      'b.test': { A: [b] },
    }
    expect(await outline(zone, { random: () => 0 })).toEqual([`b.test ${b}`, `a.test ${a}`])
    expect(await outline(zone, { random: () => 0.999 })).toEqual([`a.test ${a}`, `b.test ${b}`])
  })

  test('without MX records are the domain itself', async () => {
    expect(await outline({ 'example.org': { A: [a] } })).toEqual([`example.org ${a}`])
  })

  test('of a domain with MX records are never the domain itself', async () => {
    expect(await outline({ 'example.org': { MX: [[10, 'gone.test']], A: [a] } })).toBe('no-route 5.4.4')
  })

  test('that are addresses or malformed are skipped', async () => {
    const zone: Zone = {
      'example.org': mx(
        [1, '93.184.1.9'],
        [2, 'bad name.test'],
        [3, '-x.test'],
        [4, `${'a'.repeat(64)}.test`],
        [9, 'a.test'],
      ),
      'a.test': { A: [a] },
    }
    expect(await outline(zone)).toEqual([`a.test ${a}`])
    expect(await outline({ 'example.org': mx([1, '93.184.1.9']) })).toBe('no-route 5.4.4')
  })

  test('are at most ten, with at most twenty addresses', async () => {
    const names = Array.from({ length: 15 }, (_, i) => `mx${String(i).padStart(2, '0')}.test`)
    const zone: Zone = { 'example.org': mx(...names.map((name, i): [number, string] => [i, name])) }
    names.forEach((name, i) => (zone[name] = { A: [`93.184.${i}.1`, `93.184.${i}.2`, `93.184.${i}.3`] }))
    asked.length = 0
    const { route: found } = await find(zone)
    expect(found.kind === 'found' && found.hosts.flatMap(({ addresses }) => addresses)).toHaveLength(20)
    expect(asked.filter((one) => one.startsWith('A '))).toHaveLength(10)
  })

  test('without our own name, and nothing that is no better', async () => {
    const zone: Zone = {
      'example.org': mx([10, 'a.test'], [20, 'Mail.Sender.test'], [20, 'b.test'], [30, 'b.test']),
      'a.test': { A: [a] },
      'b.test': { A: [b] },
    }
    expect(await outline(zone)).toEqual([`a.test ${a}`])
    expect(await outline({ 'example.org': mx([10, 'mail.sender.test']) })).toBe('no-route 5.4.6')
  })
})

describe('what DNS does not say', () => {
  test('a name that does not exist has no route', async () => {
    expect(await outline({})).toBe('no-route 5.1.2')
  })

  test('a null MX is a refusal in the words of RFC 7505', async () => {
    const { route: found } = await find({ 'example.org': { MX: [[0, '']], A: [a] } })
    expect(found).toMatchObject({
      kind: 'failed',
      failure: {
        kind: 'no-route',
        status: '5.1.10',
        note: 'The domain example.org accepts no mail: it publishes a null MX record.',
      },
    })
  })

  test('a failed look-up of the MX records is no fact about the domain', async () => {
    expect(await outline({ 'example.org': 'fail' })).toBe('dns')
  })

  test('hosts that cannot be looked up are skipped while others can', async () => {
    const zone: Zone = {
      'example.org': mx([1, 'lost.test'], [2, 'gone.test'], [3, 'a.test']),
      'lost.test': 'fail',
      'a.test': { A: [a] },
    }
    expect(await outline(zone)).toEqual([`a.test ${a}`])
  })

  test('one failed host beside absent ones defers', async () => {
    expect(
      await outline({ 'example.org': mx([1, 'lost.test'], [2, 'gone.test']), 'lost.test': 'fail' }),
    ).toBe('dns')
  })

  test('hosts that are all absent have no route', async () => {
    expect(await outline({ 'example.org': mx([1, 'gone.test'], [2, 'empty.test']), 'empty.test': {} })).toBe(
      'no-route 5.4.4',
    )
  })

  test('one address family that is found serves though the other fails', async () => {
    expect(await outline({ 'example.org': { A: [a], AAAA: 'fail' } })).toEqual([`example.org ${a}`])
  })
})

describe('addresses', () => {
  test('are IPv4 first, then IPv6', async () => {
    expect(await outline({ 'example.org': { A: [a, b], AAAA: [v6] } })).toEqual([
      `example.org ${a} ${b} ${v6}`,
    ])
  })

  test('of a family that we cannot send from are left out', async () => {
    const zone: Zone = { 'example.org': { A: [a], AAAA: [v6] } }
    expect(await outline(zone, { ipv6: false })).toEqual([`example.org ${a}`])
    expect(await outline(zone, { sourceIps: ['192.0.2.1'] })).toEqual([`example.org ${a}`])
    expect(await outline(zone, { sourceIps: ['2a00::5'] })).toEqual([`example.org ${v6}`])
    expect(await outline({ 'example.org': { AAAA: [v6] } }, { ipv6: false })).toBe('network 4.4.1')
  })

  test('off limits are not dialled unless the network is allowed', async () => {
    const zone: Zone = {
      'example.org': {
        A: ['127.0.0.1', '10.0.0.5', '169.254.1.1', '0.0.0.0'],
        AAAA: ['::1', '::ffff:127.0.0.1'],
      },
    }
    expect(await outline(zone)).toBe('forbidden 5.4.4')
    expect(await outline(zone, { allow: ['10.0.0.0/8'] })).toEqual(['example.org 10.0.0.5'])
    expect(await outline({ 'example.org': { A: ['127.0.0.1', a] } })).toEqual([`example.org ${a}`])
  })

  test('off limits are explained to the operator', async () => {
    const { route: found, steps } = await find({ 'example.org': { A: ['127.0.0.1'] } })
    expect(found.kind === 'failed' && found.failure.note).toMatch(
      /127\.0\.0\.1 is .*loopback.* delivery\.allow_networks\.$/,
    )
    expect(steps.at(-1)!.note).toMatch(/^not tried: 127\.0\.0\.1 is .*loopback/)
  })

  test.each([
    ['[93.184.1.1]', ['93.184.1.1 93.184.1.1']],
    ['[IPv6:2a00:1450::1]', ['2a00:1450::1 2a00:1450::1']],
    ['[127.0.0.1]', 'forbidden 5.4.4'],
    ['[IPv6:::1]', 'forbidden 5.4.4'],
    ['[nonsense]', 'no-route 5.1.3'],
    ['[]', 'no-route 5.1.3'],
  ])('the literal %s', async (domain, expected) => {
    expect(await outline({}, { domain })).toEqual(expected)
  })
})

test('the look-ups are in the transcript', async () => {
  const zone: Zone = {
    'example.org': mx([10, 'a.test'], [20, 'b.test']),
    'a.test': { A: [a] },
    'b.test': 'fail',
  }
  const { steps } = await find(zone)
  expect(steps.map(({ name, sent, note }) => ({ name, sent, note }))).toEqual([
    { name: 'resolve', sent: 'MX example.org', note: '10 a.test, 20 b.test' },
    { name: 'resolve', sent: 'A, AAAA a.test', note: a },
    { name: 'resolve', sent: 'A, AAAA b.test', note: 'SERVFAIL, SERVFAIL' },
  ])
})

test('an address of the machine counts as IPv6 only when the world can answer to it', () => {
  const one = (address: string, internal = false) =>
    hasGlobalIpv6({
      x: [{ address, internal, family: 'IPv6', netmask: '', mac: '', cidr: null, scopeid: 0 }],
    })
  expect(one('2a01:4f8::1')).toBe(true)
  expect(one('fe80::1')).toBe(false)
  expect(one('fd00::1')).toBe(false)
  expect(one('::1', true)).toBe(false)
  expect(hasGlobalIpv6({})).toBe(false)
})

test('sources of the right family are picked by the dice', () => {
  const sources = createSources(['192.0.2.1', '192.0.2.2', '2001:db8::1'])
  expect(sources.pick(a, () => 0)).toBe('192.0.2.1')
  expect(sources.pick(a, () => 0.99)).toBe('192.0.2.2')
  expect(sources.pick(v6, () => 0.99)).toBe('2001:db8::1')
  expect(createSources([]).pick(a, () => 0)).toBeUndefined()
})
