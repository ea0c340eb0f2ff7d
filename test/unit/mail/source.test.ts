import { describe, expect, test } from 'vitest'
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
  const mail = { teamId: 't', domainId: 'd', stream: 'broadcast' } as const

  test.each([
    [mail, 'domain-stream'],
    [{ ...mail, stream: 'transactional' } as const, 'domain'],
    [{ ...mail, domainId: null }, 'team-stream'],
    [{ ...mail, domainId: 'other', stream: 'transactional' } as const, 'team'],
    [{ ...mail, teamId: 'other', domainId: 'other' }, 'stream'],
    [{ teamId: 'other', domainId: null, stream: 'transactional' } as const, 'any'],
  ])('the pool for %j is the most specific: %s', (asked, pool) => {
    expect(choosePool(all, asked)).toBe(pool)
    expect(choosePool(all.toReversed(), asked)).toBe(pool)
  })

  test('the pool is "default" without an assignment, and the oldest of equally specific assignments', () => {
    expect(choosePool([], mail)).toBe('default')
    expect(choosePool([rule('b', { teamId: 't' }), rule('a', { teamId: 't' })], mail)).toBe('a')
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
