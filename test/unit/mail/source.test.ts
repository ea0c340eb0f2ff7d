import { describe, expect, test } from 'vitest'
import {
  AUTO,
  choosePool,
  spfSources,
  usableSources,
  whyNoSource,
  type Assignment,
  type Source,
} from '../../../appliance/mail/source.ts'

const source = (ip: string, more: Partial<Source> = {}): Source => ({
  ...{ ip, pool: 'default', hostname: null, state: 'active', stateReason: null, suspendedBy: null },
  ...{ warmUpSince: null, origin: 'configuration', health: null, checkedAt: null },
  ...more,
})
const suspended = { state: 'suspended', stateReason: 'It is listed.', suspendedBy: 'check' } as const
const six = { health: { findings: [], ipv6: true } }

describe('the sending pool', () => {
  const rule = (id: string, about: Partial<Assignment>): Assignment => ({
    ...{ id, teamId: null, domainId: null, stream: null, pool: id },
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
  ])('for %j is the most specific: %s', (asked, pool) => {
    expect(choosePool(all, asked)).toBe(pool)
    expect(choosePool(all.toReversed(), asked)).toBe(pool)
  })

  test('is "default" without an assignment, and the oldest of equally specific ones', () => {
    expect(choosePool([], mail)).toBe('default')
    expect(choosePool([rule('b', { teamId: 't' }), rule('a', { teamId: 't' })], mail)).toBe('a')
  })
})

describe('usable sending IPs', () => {
  const [a, b, c] = [source('192.0.2.1'), source('192.0.2.2', { pool: 'news' }), source('2001:db8::1', six)]

  test('are the active ones of the pool and address family', () => {
    expect(usableSources([a, b, c], 'default', 4)).toEqual([a])
    expect(usableSources([a, b, c], 'default', 6)).toEqual([c])
    expect(usableSources([a, b, c], 'news', 4)).toEqual([b])
    expect(usableSources([a, b, c], 'news', 6)).toEqual([])
  })

  test('are those of the default pool when the pool has none left in any family', () => {
    const gone = { ...b, ...suspended }
    expect(usableSources([a, gone, c], 'news', 4)).toEqual([a])
    expect(usableSources([a, gone, c], 'news', 6)).toEqual([c])
    expect(usableSources([a, c], 'unknown', 4)).toEqual([a])
    expect(usableSources([{ ...a, ...suspended }, gone], 'news', 4)).toEqual([])
  })

  test("over IPv6 must have passed their check, even the system's default address", () => {
    const unchecked = source('2001:db8::2')
    const unfit = source('2001:db8::3', { health: { findings: [], ipv6: false } })
    expect(usableSources([unchecked, unfit], 'default', 6)).toEqual([])
    expect(usableSources([source(AUTO)], 'default', 6)).toEqual([])
    expect(usableSources([source(AUTO, six)], 'default', 6)).toEqual([source(AUTO, six)])
    expect(usableSources([source(AUTO)], 'default', 4)).toEqual([source(AUTO)])
  })

  test('if missing, are explained one by one', () => {
    const sources = [{ ...a, ...suspended }, c, source('2001:db8::2')]
    expect(whyNoSource(sources, 'news', 4)).toBe(
      'No sending IP is usable for IPv4: the pool news is empty; 192.0.2.1 is suspended (It is listed); 2001:db8::1 is IPv6; 2001:db8::2 is IPv6.',
    )
    expect(whyNoSource([source(AUTO)], 'default', 6)).toBe(
      "No sending IP is usable for IPv6: the system's default address has not been checked yet.",
    )
    expect(whyNoSource([source(AUTO, { health: { findings: [], ipv6: null } })], 'default', 6)).toContain(
      'has no IPv6, or a DNS lookup for it failed',
    )
    expect(
      whyNoSource([source('2001:db8::3', { health: { findings: [], ipv6: false } })], 'default', 6),
    ).toBe(
      'No sending IP is usable for IPv6: 2001:db8::3 lacks the PTR or SPF record that receivers require over IPv6.',
    )
  })
})

test("SPF lists configured IPs first, then added ones, then the system's default address", () => {
  const added = source('192.0.2.9', { origin: 'operator', pool: 'news' })
  expect(spfSources([], [source(AUTO)])).toEqual([])
  expect(spfSources(['192.0.2.1'], [source('192.0.2.1'), added])).toEqual(['192.0.2.1', '192.0.2.9'])
  expect(spfSources([], [source(AUTO), added])).toEqual(['192.0.2.9', AUTO])
})
