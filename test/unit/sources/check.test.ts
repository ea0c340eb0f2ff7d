import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Finding } from '../../../appliance/mail/finding.ts'
import type { Source, SourceHealth } from '../../../appliance/mail/source.ts'
import { buildPtrName } from '../../../appliance/dns/reverse.ts'
import { decideState, mergeHealth, type SourceCheckDeps } from '../../../appliance/sources/check.ts'
import { diffSources } from '../../../appliance/sources/registry.ts'
import { presentSource } from '../../../appliance/api/sources.ts'
import { computeNextCheck } from '../../../appliance/sources/watcher.ts'
import { list, startNames, type Names } from '../insights/fixtures.ts'
import {
  determineVisibleAddresses,
  type HostAnswers,
  checkSource,
  listReturnPaths,
  type TeamDomain,
} from '../../../appliance/sources/sources.ts'

const HELO = 'mail.acme.example'
let names: Names
beforeAll(async () => {
  names = await startNames({
    [HELO]: { A: ['192.0.2.1', '192.0.2.2'], AAAA: ['2001:db8::1', '2001:db8::2'] },
    '1.2.0.192.in-addr.arpa': { PTR: HELO },
    '2.2.0.192.in-addr.arpa': { PTR: HELO },
    '2.0.0.127.bl.test': { A: '127.0.0.2' },
    '2.2.0.192.bl.test': { A: '127.0.0.2' },
    [buildPtrName('2001:db8::1')]: { PTR: HELO },
    'send.acme.example': { TXT: 'v=spf1 ip6:2001:db8::1 ~all' },
    'send.slow.example': 'SERVFAIL',
  })
})
afterAll(() => names.close())

const source = (ip: string, more: Partial<Source> = {}): Source => ({
  ip,
  pool: 'default',
  hostname: null,
  state: 'active',
  stateReason: null,
  suspendedBy: null,
  warmUpSince: null,
  origin: 'configuration',
  health: null,
  checkedAt: null,
  ...more,
})

const ours = (domain: string) => ({ domain, otherTeam: null })
const look = (ip: string, more: Partial<SourceCheckDeps> = {}) =>
  checkSource(source(ip), {
    resolver: names.fresh(),
    blocklists: [list],
    hostname: HELO,
    returnPaths: [ours('send.acme.example')],
    local: () => [],
    isPublic: (one) => !/^(10|127)\.|^fd|^::1/.test(one),
    probe: () => Promise.resolve(null),
    ...more,
  })
const brief = ({ findings, ipv6 }: SourceHealth) => [
  ...findings.map(({ id, status }) => `${status} ${id}`),
  `ipv6 ${ipv6}`,
]

describe('the check of a sending IP', () => {
  test('the check over IPv4 covers the address, reverse DNS and every blocklist', async () => {
    expect(brief(await look('192.0.2.1'))).toEqual([
      'ok here:192.0.2.1',
      'ok ptr:192.0.2.1',
      'ok blocklist:bl.test:192.0.2.1',
      'ipv6 null',
    ])
    expect(brief(await look('192.0.2.2'))[2]).toBe('failed blocklist:bl.test:192.0.2.2')
  })

  test('the check over IPv6 also covers SPF, and both PTR and SPF must pass', async () => {
    expect(brief(await look('2001:db8::1'))).toEqual([
      'ok here:2001:db8::1',
      'ok ptr:2001:db8::1',
      'ok blocklist:bl.test:2001:db8::1',
      'ok spf:2001:db8::1:send.acme.example',
      'ipv6 true',
    ])
    expect(brief(await look('2001:db8::2'))).toEqual([
      'ok here:2001:db8::2',
      'failed ptr:2001:db8::2',
      'ok blocklist:bl.test:2001:db8::2',
      'failed spf:2001:db8::2:send.acme.example',
      'ipv6 false',
    ])
    const unclear = await look('2001:db8::1', { returnPaths: [ours('send.slow.example')] })
    expect(brief(unclear).slice(3)).toEqual(['skipped spf:2001:db8::1:send.slow.example', 'ipv6 null'])
  })

  test('the check behind a router uses the public address of the host name, and reports if there is none', async () => {
    expect(brief(await look('10.0.0.2'))).toEqual([
      'ok here:10.0.0.2',
      'ok ptr:192.0.2.1',
      'ok blocklist:bl.test:192.0.2.1',
      'ok ptr:192.0.2.2',
      'failed blocklist:bl.test:192.0.2.2',
      'ipv6 null',
    ])
    const nowhere = await look('10.0.0.2', { hostname: 'gone.example' })
    expect(nowhere.findings[1]!.found).toBe(
      '10.0.0.2 has no public address, and gone.example resolves to none. Posthaste cannot tell which address receivers see, so it did not check reverse DNS and blocklists.',
    )
    expect(brief(await look('fd00::2', { hostname: 'gone.example' })).at(-1)).toBe('ipv6 true')
  })

  test('the check reports an address that is gone', async () => {
    const gone = await look('192.0.2.1', {
      probe: (ip) => Promise.resolve(`${ip} is not an address of this machine`),
    })
    expect(gone.findings[0]).toMatchObject({
      status: 'failed',
      found: '192.0.2.1 is not an address of this machine.',
    })
  })

  test('the check of the system’s default address covers the machine’s addresses', async () => {
    const local = () => ['192.0.2.1', '2001:db8::1', '10.0.0.2']
    expect(brief(await look('auto', { local }))).toEqual([
      'ok ptr:192.0.2.1',
      'ok blocklist:bl.test:192.0.2.1',
      'ok ptr:2001:db8::1',
      'ok blocklist:bl.test:2001:db8::1',
      'ok spf:2001:db8::1:send.acme.example',
      'ipv6 true',
    ])
  })
})

test("receivers see the machine's public addresses, or else those of the router", () => {
  const found = (records: string[]) => ({ kind: 'found' as const, records, ttl: 1, authentic: false })
  const host: HostAnswers = { name: HELO, A: found(['192.0.2.1']), AAAA: found([]) }
  const isPublic = (ip: string) => !ip.startsWith('10.')
  expect(determineVisibleAddresses('auto', host, ['10.0.0.2'], isPublic)).toEqual([
    { ip: '192.0.2.1', family: 4, behind: '10.0.0.2' },
  ])
  expect(determineVisibleAddresses('auto', host, ['203.0.113.1', '10.0.0.2'], isPublic)).toEqual([
    { ip: '203.0.113.1', family: 4, behind: null },
  ])
  expect(determineVisibleAddresses('auto', host, [], isPublic)).toEqual([])
})

const finding = (id: string, status: Finding['status'], found: string = status): Finding => ({
  id,
  title: id,
  status,
  found,
  advice: null,
})
const health = (...findings: Finding[]): SourceHealth => ({ findings, ipv6: null })

describe('the state of a sending IP', () => {
  const active = { state: 'active', stateReason: null, suspendedBy: null }
  const because = (stateReason: string) => ({ state: 'suspended', stateReason, suspendedBy: 'check' })
  const other = source('192.0.2.9')

  test('a sending IP is suspended when its address is gone, and active when the address is back', () => {
    const gone = health(finding('here:192.0.2.1', 'failed', 'It is gone.'))
    expect(decideState(source('192.0.2.1'), gone, [])).toEqual(because('It is gone.'))
    const before = source('192.0.2.1', { ...because('It is gone.') } as Partial<Source>)
    expect(decideState(before, health(finding('here:192.0.2.1', 'ok')), [])).toEqual(active)
  })

  test('a listing suspends a sending IP only while another IP can take over its mail', () => {
    const listed = health(finding('blocklist:bl.test:192.0.2.1', 'failed', 'It is listed.'))
    expect(decideState(source('192.0.2.1'), listed, [other])).toEqual(because('It is listed.'))
    expect(decideState(source('192.0.2.1', { pool: 'news' }), listed, [other])).toEqual(
      because('It is listed.'),
    )
    expect(decideState(source('192.0.2.1'), listed, [])).toEqual(active)
    expect(decideState(source('192.0.2.1'), listed, [{ ...other, state: 'suspended' }])).toEqual(active)
    expect(decideState(source('192.0.2.1'), listed, [{ ...other, pool: 'news' }])).toEqual(active)
    const warned = health(finding('blocklist:bl.test:192.0.2.1', 'warning'))
    expect(decideState(source('192.0.2.1'), warned, [other])).toEqual(active)
  })

  test('missing PTR or SPF suspends an IPv6 address, but not an IPv4 address', () => {
    const unfit = health(finding('ptr:2001:db8::1', 'failed', 'No PTR.'))
    expect(decideState(source('2001:db8::1'), unfit, [])).toEqual(because('No PTR.'))
    expect(decideState(source('192.0.2.1'), health(finding('ptr:192.0.2.1', 'failed')), [other])).toEqual(
      active,
    )
  })

  test('a sending IP suspended by an operator stays suspended whatever the checks find', () => {
    const ended = {
      state: 'suspended',
      stateReason: 'An operator suspended it.',
      suspendedBy: 'operator',
    } as const
    expect(decideState(source('192.0.2.1', ended), health(), [other])).toEqual(ended)
  })
})

test('earlier findings are kept while DNS does not answer', () => {
  const before: SourceHealth = {
    findings: [finding('blocklist:a', 'failed', 'listed'), finding('ptr:2001:db8::1', 'ok')],
    ipv6: true,
  }
  const now: SourceHealth = {
    findings: [
      finding('blocklist:a', 'skipped'),
      finding('ptr:2001:db8::1', 'skipped'),
      finding('blocklist:b', 'skipped'),
    ],
    ipv6: null,
  }
  const kept = mergeHealth(before, now, '2001:db8::1')
  expect(kept.findings.map(({ found }) => found)).toEqual(['listed', 'ok', 'skipped'])
  expect(kept.ipv6).toBe(true)
  expect(mergeHealth(null, now, '2001:db8::1')).toEqual(now)
})

test('the next check is in an hour, or 15 minutes while something is wrong, with 10% jitter', () => {
  const well = health(finding('ptr', 'warning'))
  expect(computeNextCheck({ suspendedBy: null }, well, 0, 0.5)).toBe(3_600_000)
  expect(computeNextCheck({ suspendedBy: null }, well, 0, 0)).toBe(3_240_000)
  expect(computeNextCheck({ suspendedBy: 'check' }, well, 0, 0.5)).toBe(900_000)
  expect(computeNextCheck({ suspendedBy: 'operator' }, health(finding('ptr', 'failed')), 0, 0.5)).toBe(
    900_000,
  )
})

test('only verified domains affect the IPv6 check', () => {
  const domain = (name: string, status: 'verified' | 'partially_failed') =>
    ({ domain: { name, returnPath: 'send', status }, otherTeam: null }) as TeamDomain
  expect(listReturnPaths([domain('a.example', 'verified'), domain('b.example', 'partially_failed')])).toEqual(
    [ours('send.a.example')],
  )
})

test("SPF of another team's domain only causes a warning, and IPv6 stays usable", async () => {
  const otherTeam = { id: 'their-id', name: 'Them' }
  const returnPaths = [ours('send.acme.example'), { domain: 'send.none.example', otherTeam }]
  const seen = await look('2001:db8::1', { returnPaths })
  expect(seen.ipv6).toBe(true)
  expect(seen.findings.at(-1)).toEqual({
    id: 'other-team:spf:2001:db8::1:send.none.example',
    title: 'SPF of send.none.example for 2001:db8::1 (team "Them")',
    status: 'warning',
    found: 'SPF of send.none.example does not allow mail from 2001:db8::1 (none).',
    advice:
      'The team must publish the SPF record that posthaste domain show --team their-id prints. Until then, large providers may refuse its mail over IPv6.',
  })
  expect(decideState(source('2001:db8::1'), seen, [])).toMatchObject({ state: 'active' })
  expect(presentSource(source('2001:db8::1', { health: seen })).checks.map(({ id }) => id)).not.toContain(
    seen.findings.at(-1)!.id,
  )
})

describe('reconciling sending IPs with the configuration', () => {
  const plan = (sources: Source[], configured: string[], warmUp = false) => {
    const { add, remove } = diffSources(sources, { configured, warmUp }, 7)
    return [add.map(({ ip, warmUpSince }) => `${ip} ${warmUpSince}`), remove]
  }

  test('reconciling adds and removes configured addresses in normalized form', () => {
    expect(plan([source('auto')], ['192.0.2.1', '2001:DB8:0::1'])).toEqual([
      ['192.0.2.1 null', '2001:db8::1 null'],
      [],
    ])
    expect(plan([source('192.0.2.1')], [], true)).toEqual([[], ['192.0.2.1']])
    expect(plan([], ['192.0.2.1'], true)).toEqual([['192.0.2.1 7'], []])
  })

  test('reconciling keeps added addresses and the system’s default address', () => {
    expect(plan([source('192.0.2.5', { origin: 'operator' }), source('auto')], [])).toEqual([[], []])
  })
})
