import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createResolver } from '../../../appliance/dns/resolver.ts'
import { startZoneServer, type ZoneServer } from '../../../appliance/sandbox/zone.ts'
import { createTestClock } from '../../world/clock.ts'
import { freeAddress } from '../../world/addresses.ts'

/** Three servers: one that recurses and knows the others, and two that publish example.test. */
let recursive: ZoneServer
let first: ZoneServer
let second: ZoneServer
let resolver: ReturnType<typeof createResolver>
let forbidden = ''

beforeEach(async () => {
  forbidden = ''
  // Authoritative servers don't follow aliases out of their zones.
  const published = { zone: { 'example.test': { TXT: 'new' } }, chase: false }
  first = await startZoneServer({ ...published, address: freeAddress() })
  second = await startZoneServer({ ...published, address: freeAddress(), port: first.port })
  recursive = await startZoneServer({
    zone: {
      'example.test': { TXT: 'old', NS: ['ns1.host.test', 'ns2.host.test'] },
      'ns1.host.test': { A: first.address },
      'ns2.host.test': { A: second.address },
    },
  })
  resolver = createResolver({
    servers: [`${recursive.address}:${recursive.port}`],
    clock: createTestClock(),
    timeoutMs: 300,
    authoritativePort: first.port,
    isForbidden: (ip) => ip === forbidden,
  })
})

afterEach(async () => {
  resolver.close()
  await Promise.all([recursive.close(), first.close(), second.close()])
})

const noteOf = (answer: { kind: string; note?: string }) => {
  expect(answer.kind).toBe('failed')
  return answer.note
}

describe('resolveAuthoritative', () => {
  test('returns what the authoritative servers publish now, bypassing cache and recursive server', async () => {
    expect(await resolver.resolve('example.test', 'TXT')).toMatchObject({ records: ['old'] })
    expect(await resolver.resolveAuthoritative('example.test', 'TXT')).toMatchObject({ records: ['new'] })
    first.set('example.test', { TXT: 'newer' })
    expect(await resolver.resolveAuthoritative('Example.test.', 'TXT')).toEqual({
      kind: 'found',
      records: ['newer'],
      ttl: 300,
      authentic: false,
    })
  })

  test('finds the zone of a name that the recursive server does not know', async () => {
    first.set('posthaste._domainkey.example.test', { TXT: 'v=DKIM1' })
    const name = 'posthaste._domainkey.example.test'
    expect(await resolver.resolveAuthoritative(name, 'TXT')).toMatchObject({ records: ['v=DKIM1'] })
    expect(await resolver.resolveAuthoritative('no.example.test', 'TXT')).toMatchObject({
      kind: 'absent',
      why: 'nxdomain',
    })
  })

  test('queries the next name server when one is silent, lame or fails', async () => {
    for (const failure of ['TIMEOUT', 'LAME', 'REFUSED', 'SERVFAIL', 'REFERRAL'] as const) {
      first.set('example.test', failure)
      expect(await resolver.resolveAuthoritative('example.test', 'TXT')).toMatchObject({ records: ['new'] })
    }
  })

  test('follows a CNAME into the zone of its target, but queries the owner’s zone for the CNAME itself', async () => {
    recursive.set('www.example.test', { CNAME: 'cdn.other.test' })
    recursive.set('other.test', { NS: 'ns2.host.test' })
    recursive.set('cdn.other.test', { A: '192.0.2.1' })
    first.set('www.example.test', { CNAME: 'cdn.other.test' })
    second.set('cdn.other.test', { A: '192.0.2.9' })
    expect(await resolver.resolveAuthoritative('www.example.test', 'A')).toMatchObject({
      records: ['192.0.2.9'],
    })
    expect(await resolver.resolveAuthoritative('www.example.test', 'CNAME')).toMatchObject({
      records: ['cdn.other.test'],
    })
    expect(second.queries).toEqual([{ name: 'cdn.other.test', type: 'A', transport: 'udp' }])
  })

  test('fails on a CNAME loop through several zones', async () => {
    first.set('loop.example.test', { CNAME: 'loop.other.test' })
    second.set('loop.other.test', { CNAME: 'loop.example.test' })
    recursive.set('other.test', { NS: 'ns2.host.test' })
    expect(noteOf(await resolver.resolveAuthoritative('loop.example.test', 'A'))).toBe(
      'The CNAME records of loop.example.test form a loop or a chain that is too long',
    )
  })

  test('the failure names the servers that could not be queried, with the reasons', async () => {
    first.set('example.test', 'REFUSED')
    second.set('example.test', 'TIMEOUT')
    expect(noteOf(await resolver.resolveAuthoritative('example.test', 'TXT'))).toBe(
      'None of the name servers of example.test could be queried: ' +
        `ns1.host.test: Cannot look up TXT of example.test: DNS server ${first.address}:${first.port} answered REFUSED; ` +
        `ns2.host.test: Cannot look up TXT of example.test: DNS server ${second.address}:${second.port} did not respond within 300 ms`,
    )
  })

  test('never queries a name server whose address is off limits', async () => {
    forbidden = first.address
    expect(await resolver.resolveAuthoritative('example.test', 'TXT')).toMatchObject({ records: ['new'] })
    expect(first.queries).toEqual([])
    recursive.set('ns2.host.test', undefined)
    expect(noteOf(await resolver.resolveAuthoritative('example.test', 'TXT'))).toBe(
      'None of the name servers of example.test could be queried: ' +
        `ns1.host.test has the address ${first.address}, which is not allowed; ns2.host.test has no address`,
    )
  })

  test('fails when no zone is found, and when the recursive server fails', async () => {
    expect(noteOf(await resolver.resolveAuthoritative('stray.invalid', 'TXT'))).toBe(
      'No name servers are published for stray.invalid or a domain above it',
    )
    recursive.replace(() => 'SERVFAIL')
    expect(noteOf(await resolver.resolveAuthoritative('example.test', 'TXT'))).toMatch(/answered SERVFAIL$/)
  })
})

describe('survey', () => {
  test('returns the answer of each name server of the zone', async () => {
    first.set('example.test', { TXT: 'newer' })
    expect(await resolver.survey('Example.test.', 'TXT')).toEqual({
      kind: 'asked',
      zone: 'example.test',
      servers: [
        { host: 'ns1.host.test', answer: { kind: 'found', records: ['newer'], ttl: 300, authentic: false } },
        { host: 'ns2.host.test', answer: { kind: 'found', records: ['new'], ttl: 300, authentic: false } },
      ],
    })
  })

  test('returns a failure with its reason for each server that is silent, off limits or has no address', async () => {
    first.set('example.test', 'TIMEOUT')
    forbidden = second.address
    recursive.set('example.test', { NS: ['ns1.host.test', 'ns2.host.test', 'ns3.host.test'] })
    const survey = await resolver.survey('example.test', 'TXT')
    const servers = survey.kind === 'asked' ? survey.servers : []
    expect(servers.map(({ answer }) => answer.kind)).toEqual(['failed', 'failed', 'failed'])
    expect(noteOf(servers[0]!.answer)).toContain(first.address)
    expect(noteOf(servers[1]!.answer)).toBe(
      `ns2.host.test has the address ${second.address}, which is not allowed`,
    )
    expect(noteOf(servers[2]!.answer)).toBe('ns3.host.test has no address')
  })

  test('follows a CNAME separately on each server', async () => {
    first.set('links.example.test', { CNAME: 'target.example.test' })
    first.set('target.example.test', { TXT: 'there' })
    const survey = await resolver.survey('links.example.test', 'TXT')
    expect(survey).toMatchObject({
      servers: [
        { host: 'ns1.host.test', answer: { kind: 'found', records: ['there'] } },
        { host: 'ns2.host.test', answer: { kind: 'absent', why: 'nxdomain' } },
      ],
    })
  })

  test('fails for a name without name servers', async () => {
    expect(await resolver.survey('nobody.invalid', 'TXT')).toMatchObject({ kind: 'failed' })
  })
})
