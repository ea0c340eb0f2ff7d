import { isIP } from 'node:net'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../../../appliance/clock/clock.ts'
import type { Answer, RecordType } from '../../../appliance/dns/dns.ts'
import { createRecorder } from '../../../appliance/delivery/recorder.ts'
import { type Route, findRoute } from '../../../appliance/delivery/route.ts'
import { parseNetworks } from '../../../appliance/wire/networks.ts'
import type { Step } from '../../../appliance/mail/transcript.ts'
import { setUp } from '../dns/harness.ts'

/** Names of a fake internet: `fail` means SERVFAIL, a missing name NXDOMAIN, a missing type no data. */
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

/** Without sending IPs, the system chooses: IPv4, and IPv6 unless told otherwise. */
function reaches(ip: string, { sourceIps = [], ipv6 = true }: Options): boolean {
  if (sourceIps.length > 0) return sourceIps.some((source) => isIP(source) === isIP(ip))
  return isIP(ip) === 4 || ipv6
}

async function find(zone: Zone, options: Options = {}): Promise<{ route: Route; steps: Step[] }> {
  const recorder = createRecorder(systemClock, systemClock.now())
  const found = await findRoute(options.domain ?? 'example.org', recorder, {
    resolver: { resolve: async (name, type) => resolve(zone, name, type) },
    random: options.random ?? (() => 0.999), // keeps the order of equals
    hostname: options.hostname ?? 'mail.sender.test',
    allowNetworks: parseNetworks(options.allow ?? []),
    ownAddresses: () => [],
    sources: { reaches: (ip) => reaches(ip, options) },
  })
  return { route: found, steps: recorder.steps }
}

/** Returns `name ip ip` for each host, or `kind status` of the failure. */
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
  test('mail exchangers are tried in order of preference', async () => {
    const zone: Zone = {
      'example.org': mx([20, 'b.test'], [10, 'a.test']),
      'a.test': { A: [a] },
      'b.test': { A: [b] },
    }
    expect(await outline(zone)).toEqual([`a.test ${a}`, `b.test ${b}`])
  })

  test('mail exchangers of equal preference are shuffled', async () => {
    const zone: Zone = {
      'example.org': mx([10, 'a.test'], [10, 'b.test']),
      'a.test': { A: [a] },
      'b.test': { A: [b] },
    }
    expect(await outline(zone, { random: () => 0 })).toEqual([`b.test ${b}`, `a.test ${a}`])
    expect(await outline(zone, { random: () => 0.999 })).toEqual([`a.test ${a}`, `b.test ${b}`])
  })

  test('a domain without MX records is its own mail exchanger', async () => {
    expect(await outline({ 'example.org': { A: [a] } })).toEqual([`example.org ${a}`])
  })

  test('a domain with MX records is never used as a mail exchanger itself', async () => {
    expect(await outline({ 'example.org': { MX: [[10, 'gone.test']], A: [a] } })).toBe('no-route 5.4.4')
  })

  test('mail exchangers that are addresses or malformed names are skipped', async () => {
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

  test('uses at most ten mail exchangers, with twenty addresses in total', async () => {
    const names = Array.from({ length: 15 }, (_, i) => `mx${String(i).padStart(2, '0')}.test`)
    const zone: Zone = { 'example.org': mx(...names.map((name, i): [number, string] => [i, name])) }
    names.forEach((name, i) => (zone[name] = { A: [`93.184.${i}.1`, `93.184.${i}.2`, `93.184.${i}.3`] }))
    asked.length = 0
    const { route: found } = await find(zone)
    expect(found.kind === 'found' && found.hosts.flatMap(({ addresses }) => addresses)).toHaveLength(20)
    expect(asked.filter((one) => one.startsWith('A '))).toHaveLength(10)
  })

  test('excludes our own name and all mail exchangers of equal or lower preference', async () => {
    const zone: Zone = {
      'example.org': mx([10, 'a.test'], [20, 'Mail.Sender.test'], [20, 'b.test'], [30, 'b.test']),
      'a.test': { A: [a] },
      'b.test': { A: [b] },
    }
    expect(await outline(zone)).toEqual([`a.test ${a}`])
    expect(await outline({ 'example.org': mx([10, 'mail.sender.test']) })).toBe('no-route 5.4.6')
  })
})

/** Examples of RFC 5321 §5.1 with unusual records. Each lists what is attempted, in this order. */
describe('RFC 5321 §5.1 by example', () => {
  const A = { A: [a] }
  const own = 'mail.sender.test'
  const both: Zone = { 'a.test': { A: [a] }, 'b.test': { A: [b] } }
  const first = [`a.test ${a}`]
  const second = [`b.test ${b}`]
  const cases: { name: string; zone: Zone; expected: string[] | string; options?: Options }[] = [
    {
      name: 'preferences are compared as numbers, up to 65535',
      zone: { ...both, 'example.org': mx([65535, 'b.test'], [9, 'a.test']) },
      expected: [...first, ...second],
    },
    {
      name: 'only hosts of equal preference are shuffled',
      zone: { ...both, 'example.org': mx([5, 'c.test'], [10, 'a.test'], [10, 'b.test']), 'c.test': A },
      options: { random: () => 0.5 },
      expected: [`c.test ${a}`, ...second, ...first],
    },
    {
      name: 'a host listed twice is tried once, at its best preference',
      zone: { ...both, 'example.org': mx([30, 'a.test'], [20, 'b.test'], [10, 'a.test']) },
      expected: [...first, ...second],
    },
    {
      name: 'a host listed twice in different case is tried once',
      zone: { ...both, 'example.org': mx([10, 'A.Test'], [10, 'a.tEST']) },
      expected: first,
    },
    {
      name: 'two hosts with the same address are both tried',
      zone: { 'example.org': mx([1, 'a.test'], [2, 'c.test']), 'a.test': A, 'c.test': A },
      expected: [`a.test ${a}`, `c.test ${a}`],
    },
    {
      name: 'a duplicate address is tried once',
      zone: { 'example.org': mx([1, 'a.test']), 'a.test': { A: [a, a] } },
      expected: first,
    },
    {
      name: 'our own name removes itself and all hosts of equal or lower preference',
      zone: { ...both, 'example.org': mx([10, 'a.test'], [20, own], [20, 'b.test'], [30, 'b.test']) },
      expected: first,
    },
    {
      name: 'our own name listed twice counts at its best preference',
      zone: { ...both, 'example.org': mx([10, own], [20, 'a.test'], [30, own]) },
      expected: 'no-route 5.4.6',
    },
    {
      name: 'our own name as the domain itself is a loop too',
      zone: { [own]: A },
      options: { domain: own },
      expected: 'no-route 5.4.6',
    },
    {
      name: 'an MX that points to the domain itself is an ordinary host',
      zone: { 'example.org': { MX: [[10, 'example.org']], A: [a] } },
      expected: [`example.org ${a}`],
    },
    {
      name: 'a root MX among others is ignored',
      zone: { ...both, 'example.org': mx([0, ''], [10, 'a.test']) },
      expected: first,
    },
    {
      name: 'a root MX written as a dot is ignored among others',
      zone: { ...both, 'example.org': mx([0, '.'], [10, 'a.test']) },
      expected: first,
    },
    {
      name: 'several root MX records alone are a null MX',
      zone: { 'example.org': mx([0, ''], [10, '.']) },
      expected: 'no-route 5.1.10',
    },
    {
      name: 'an MX that is an address is ignored',
      zone: {
        ...both,
        'example.org': mx([1, '192.0.2.1'], [2, '[192.0.2.1]'], [3, '2a00::1'], [9, 'a.test']),
      },
      expected: first,
    },
    {
      name: 'only addresses as MX are no route, without fallback to the domain itself',
      zone: { 'example.org': { MX: [[1, '192.0.2.1']], A: [a] } },
      expected: 'no-route 5.4.4',
    },
    {
      name: 'names with underscores are accepted',
      zone: { 'example.org': mx([1, 'mx_1.a.test']), 'mx_1.a.test': A },
      expected: [`mx_1.a.test ${a}`],
    },
    {
      name: 'names with line breaks or spaces are ignored',
      zone: { ...both, 'example.org': mx([1, 'x.test\r\nRSET'], [2, 'x test'], [3, 'a.test']) },
      expected: first,
    },
    {
      name: 'an alias without addresses is skipped',
      zone: { ...both, 'example.org': mx([1, 'alias.test'], [2, 'a.test']), 'alias.test': {} },
      expected: first,
    },
    {
      name: 'a host whose lookup fails is skipped',
      zone: { ...both, 'example.org': mx([1, 'lost.test'], [2, 'a.test']), 'lost.test': 'fail' },
      expected: first,
    },
    {
      name: 'the route is deferred when all lookups fail',
      zone: { 'example.org': mx([1, 'lost.test'], [2, 'off.test']), 'lost.test': 'fail', 'off.test': 'fail' },
      expected: 'dns',
    },
    {
      name: 'the route is deferred when one address family fails and the other is absent',
      zone: { 'example.org': mx([1, 'a.test']), 'a.test': { A: 'fail' } },
      expected: 'dns',
    },
    {
      name: 'the route is deferred when one host is forbidden and the lookup of another fails',
      zone: {
        'example.org': mx([1, 'a.test'], [2, 'b.test']),
        'a.test': { A: ['127.0.0.1'] },
        'b.test': 'fail',
      },
      expected: 'dns',
    },
    {
      name: 'a host with only IPv6 is used',
      zone: { 'example.org': mx([1, 'a.test']), 'a.test': { AAAA: [v6] } },
      expected: [`a.test ${v6}`],
    },
    {
      name: 'a host with only IPv6 is unreachable without an IPv6 source',
      zone: { 'example.org': mx([1, 'a.test']), 'a.test': { AAAA: [v6] } },
      options: { ipv6: false },
      expected: 'network 4.4.1',
    },
    {
      name: 'a host that is off limits is skipped',
      zone: {
        ...both,
        'example.org': mx([1, 'inside.test'], [2, 'a.test']),
        'inside.test': { A: ['127.0.0.1'] },
      },
      expected: first,
    },
    {
      name: 'the route is forbidden when all hosts are off limits',
      zone: {
        'example.org': mx([1, 'inside.test']),
        'inside.test': { A: ['0.0.0.0'], AAAA: ['::1', 'fe80::1'] },
      },
      expected: 'forbidden 5.4.4',
    },
    {
      name: 'an eleventh host is not looked up, even if the first ten have no address',
      zone: {
        ...both,
        'example.org': mx(...Array.from({ length: 10 }, (_, i): [number, string] => [i, `gone${i}.test`]), [
          10,
          'a.test',
        ]),
      },
      expected: 'no-route 5.4.4',
    },
  ]
  test.each(cases)('RFC 5321 §5.1: $name', async ({ zone, expected, options }) => {
    expect(await outline(zone, options)).toEqual(expected)
  })
})

describe('route lookup results', () => {
  test('a nonexistent domain has no route', async () => {
    expect(await outline({})).toBe('no-route 5.1.2')
  })

  test('a null MX gives status 5.1.10 (RFC 7505)', async () => {
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

  test('a failed MX lookup defers the delivery', async () => {
    expect(await outline({ 'example.org': 'fail' })).toBe('dns')
  })

  test('hosts whose lookup fails or finds nothing are skipped if others resolve', async () => {
    const zone: Zone = {
      'example.org': mx([1, 'lost.test'], [2, 'gone.test'], [3, 'a.test']),
      'lost.test': 'fail',
      'a.test': { A: [a] },
    }
    expect(await outline(zone)).toEqual([`a.test ${a}`])
  })

  test('one host with a failed lookup among nonexistent ones defers the delivery', async () => {
    expect(
      await outline({ 'example.org': mx([1, 'lost.test'], [2, 'gone.test']), 'lost.test': 'fail' }),
    ).toBe('dns')
  })

  test('there is no route if no host has an address', async () => {
    expect(await outline({ 'example.org': mx([1, 'gone.test'], [2, 'empty.test']), 'empty.test': {} })).toBe(
      'no-route 5.4.4',
    )
  })

  test('one address family is enough if the lookup of the other fails', async () => {
    expect(await outline({ 'example.org': { A: [a], AAAA: 'fail' } })).toEqual([`example.org ${a}`])
  })
})

describe('addresses', () => {
  test('orders IPv4 addresses before IPv6', async () => {
    expect(await outline({ 'example.org': { A: [a, b], AAAA: [v6] } })).toEqual([
      `example.org ${a} ${b} ${v6}`,
    ])
  })

  test('omits addresses of a family without a source address', async () => {
    const zone: Zone = { 'example.org': { A: [a], AAAA: [v6] } }
    expect(await outline(zone, { ipv6: false })).toEqual([`example.org ${a}`])
    expect(await outline(zone, { sourceIps: ['192.0.2.1'] })).toEqual([`example.org ${a}`])
    expect(await outline(zone, { sourceIps: ['2a00::5'] })).toEqual([`example.org ${v6}`])
    expect(await outline({ 'example.org': { AAAA: [v6] } }, { ipv6: false })).toBe('network 4.4.1')
  })

  test('an address that is off limits is used only if its network is allowed', async () => {
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

  test('the failure explains an address that is off limits to the operator', async () => {
    const { route: found, steps } = await find({ 'example.org': { A: ['127.0.0.1'] } })
    expect(found.kind === 'failed' && found.failure.note).toMatch(
      /^The mail exchanger's address 127\.0\.0\.1 is loopback\. To deliver there, add it to delivery\.allow_networks\.$/,
    )
    expect(steps.at(-1)!.note).toMatch(/^not attempted: 127\.0\.0\.1 is .*loopback/)
  })

  test.each([
    ['[93.184.1.1]', ['93.184.1.1 93.184.1.1']],
    ['[IPv6:2a00:1450::1]', ['2a00:1450::1 2a00:1450::1']],
    ['[127.0.0.1]', 'forbidden 5.4.4'],
    ['[IPv6:::1]', 'forbidden 5.4.4'],
    ['[nonsense]', 'no-route 5.1.3'],
    ['[]', 'no-route 5.1.3'],
  ])('routes or rejects the address literal %s', async (domain, expected) => {
    expect(await outline({}, { domain })).toEqual(expected)
  })
})

test('DNS lookups are recorded in the transcript', async () => {
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

describe('with the resolver', () => {
  test("an MX that is a CNAME is used under its own name with the target's addresses (RFC 2181 §10.3)", async () => {
    const { resolver } = await setUp({
      'example.test': { MX: [{ preference: 5, exchange: 'Alias.Example.test.' }] },
      'alias.example.test': { CNAME: 'Host.Provider.test' },
      'host.provider.test': { A: a },
    })
    const recorder = createRecorder(systemClock, systemClock.now())
    const sources = { reaches: () => true }
    const ours = { hostname: 'mail.sender.test', allowNetworks: [], ownAddresses: () => [], sources }
    const found = await findRoute('example.test', recorder, { resolver, random: () => 0, ...ours })
    expect(found).toMatchObject({ hosts: [{ name: 'alias.example.test', addresses: [a] }] })
  })
})
