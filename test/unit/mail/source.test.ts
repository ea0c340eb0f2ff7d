import { describe, expect, test } from 'vitest'
import { NO_REGIONS, type RegionMap } from '../../../appliance/mail/region.ts'
import {
  AUTO_IP,
  choosePool,
  listSpfSources,
  selectUsableSources,
  explainMissingSource,
  type Assignment,
  type Source,
} from '../../../appliance/mail/source.ts'

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
const suspended = { state: 'suspended', stateReason: 'It is listed.', suspendedBy: 'check' } as const
const six = { health: { findings: [], ipv6: true } }

describe('the sending pool', () => {
  const rule = (id: string, about: Partial<Assignment>): Assignment => ({
    id,
    teamId: null,
    domainId: null,
    stream: null,
    pool: id,
    ...about,
  })
  const all = [
    rule('any', {}),
    rule('stream', { stream: 'broadcast' }),
    rule('team', { teamId: 't' }),
    rule('team-stream', { teamId: 't', stream: 'broadcast' }),
    rule('domain', { domainId: 'd' }),
    rule('domain-stream', { domainId: 'd', stream: 'broadcast' }),
  ]
  const mail = { teamId: 't', domainId: 'd', region: 'eu-west-1', stream: 'broadcast' } as const

  test.each([
    [mail, 'domain-stream'],
    [{ ...mail, stream: 'transactional' } as const, 'domain'],
    [{ ...mail, domainId: null }, 'team-stream'],
    [{ ...mail, domainId: 'other', stream: 'transactional' } as const, 'team'],
    [{ ...mail, teamId: 'other', domainId: 'other' }, 'stream'],
    [{ ...mail, teamId: 'other', domainId: null, stream: 'transactional' } as const, 'any'],
  ])('the pool for %j is the most specific: %s', (asked, pool) => {
    expect(choosePool(all, asked, NO_REGIONS)).toBe(pool)
    expect(choosePool(all.toReversed(), asked, NO_REGIONS)).toBe(pool)
  })

  test('the pool is "default" without an assignment, and the oldest of equally specific assignments', () => {
    expect(choosePool([], mail, NO_REGIONS)).toBe('default')
    const equal = [rule('b', { teamId: 't' }), rule('a', { teamId: 't' })]
    expect(choosePool(equal, mail, NO_REGIONS)).toBe('a')
  })

  const regions: RegionMap = {
    pools: [
      { pool: 'default', region: 'us-east-1' },
      { pool: 'eu-2', region: 'eu-west-1' },
      { pool: 'eu-1', region: 'eu-west-1' },
      { pool: 'tokyo', region: 'ap-northeast-1' },
    ],
    failovers: [],
  }
  const [stream, team, domain] = [
    { stream: 'broadcast' },
    { teamId: 't' },
    { domainId: 'd', stream: 'broadcast' },
  ] as const

  test.each<[string | null, Assignment[], string, string]>([
    ['eu-west-1', [], 'eu-1', 'the first pool of the region'],
    ['us-east-1', [], 'default', 'default is in the region'],
    ['sa-east-1', [], 'default', 'no pool is in the region'],
    [null, [], 'default', 'the domain is unknown'],
    ['eu-west-1', [{ ...rule('x', stream), pool: 'eu-2' }], 'eu-2', 'the assigned pool is in the region'],
    ['eu-west-1', [{ ...rule('x', stream), pool: 'tokyo' }], 'eu-1', 'a stream does not decide the region'],
    ['eu-west-1', [{ ...rule('x', {}), pool: 'tokyo' }], 'eu-1', 'an assignment of all mail does not either'],
    ['sa-east-1', [{ ...rule('x', stream), pool: 'tokyo' }], 'tokyo', 'no pool is in the region'],
    ['eu-west-1', [{ ...rule('x', team), pool: 'tokyo' }], 'tokyo', 'an assignment names the team'],
    ['eu-west-1', [{ ...rule('x', domain), pool: 'other' }], 'other', 'an assignment names the domain'],
  ])('mail of the region %s with %j uses the pool %s: %s', (region, assignments, pool) => {
    expect(choosePool(assignments, { ...mail, region }, regions)).toBe(pool)
  })

  test('mail of a region that is failed over uses a pool of the other region, whatever assigned it', () => {
    const failover = { region: 'eu-west-1', target: 'ap-northeast-1', since: 0, auditId: 'a' }
    const over = { ...regions, failovers: [failover] }
    expect(choosePool([], mail, over)).toBe('tokyo')
    expect(choosePool([{ ...rule('x', domain), pool: 'eu-2' }], mail, over)).toBe('tokyo')
    expect(choosePool([], { ...mail, region: 'us-east-1' }, over)).toBe('default')
    // The other region has lost its pools meanwhile.
    const nowhere = { ...over, failovers: [{ ...failover, target: 'sa-east-1' }] }
    expect(choosePool([], mail, nowhere)).toBe('eu-1')
  })
})

describe('usable sending IPs', () => {
  const [a, b, c] = [source('192.0.2.1'), source('192.0.2.2', { pool: 'news' }), source('2001:db8::1', six)]

  test('the usable IPs are the active ones of the pool and address family', () => {
    expect(selectUsableSources([a, b, c], 'default', 4)).toEqual([a])
    expect(selectUsableSources([a, b, c], 'default', 6)).toEqual([c])
    expect(selectUsableSources([a, b, c], 'news', 4)).toEqual([b])
    expect(selectUsableSources([a, b, c], 'news', 6)).toEqual([])
  })

  test('uses the IPs of the default pool if the pool has no usable IP in any family', () => {
    const gone = { ...b, ...suspended }
    expect(selectUsableSources([a, gone, c], 'news', 4)).toEqual([a])
    expect(selectUsableSources([a, gone, c], 'news', 6)).toEqual([c])
    expect(selectUsableSources([a, c], 'unknown', 4)).toEqual([a])
    expect(selectUsableSources([{ ...a, ...suspended }, gone], 'news', 4)).toEqual([])
  })

  test('an IPv6 address must have passed its check, even the system’s default address', () => {
    const unchecked = source('2001:db8::2')
    const unfit = source('2001:db8::3', { health: { findings: [], ipv6: false } })
    expect(selectUsableSources([unchecked, unfit], 'default', 6)).toEqual([])
    expect(selectUsableSources([source(AUTO_IP)], 'default', 6)).toEqual([])
    expect(selectUsableSources([source(AUTO_IP, six)], 'default', 6)).toEqual([source(AUTO_IP, six)])
    expect(selectUsableSources([source(AUTO_IP)], 'default', 4)).toEqual([source(AUTO_IP)])
  })

  test('explains for each sending IP why it is not usable', () => {
    const sources = [{ ...a, ...suspended }, c, source('2001:db8::2')]
    expect(explainMissingSource(sources, 'news', 4)).toBe(
      'No sending IP is usable for IPv4: the pool news is empty; 192.0.2.1 is suspended (It is listed); 2001:db8::1 is IPv6; 2001:db8::2 is IPv6.',
    )
    expect(explainMissingSource([source(AUTO_IP)], 'default', 6)).toBe(
      "No sending IP is usable for IPv6: the system's default address has not been checked yet.",
    )
    expect(
      explainMissingSource([source(AUTO_IP, { health: { findings: [], ipv6: null } })], 'default', 6),
    ).toContain('has no IPv6, or a DNS lookup for it failed')
    expect(
      explainMissingSource([source('2001:db8::3', { health: { findings: [], ipv6: false } })], 'default', 6),
    ).toBe(
      'No sending IP is usable for IPv6: 2001:db8::3 lacks the PTR or SPF record that receivers require over IPv6.',
    )
  })
})

test("SPF lists configured IPs first, then added ones, then the system's default address", () => {
  const added = source('192.0.2.9', { origin: 'operator', pool: 'news' })
  expect(listSpfSources([], [source(AUTO_IP)])).toEqual([])
  expect(listSpfSources(['192.0.2.1'], [source('192.0.2.1'), added])).toEqual(['192.0.2.1', '192.0.2.9'])
  expect(listSpfSources([], [source(AUTO_IP), added])).toEqual(['192.0.2.9', AUTO_IP])
})
