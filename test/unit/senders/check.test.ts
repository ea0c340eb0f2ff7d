import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../../appliance/clock/clock.ts'
import type { Resolver } from '../../../appliance/dns/dns.ts'
import { createResolver } from '../../../appliance/dns/resolver.ts'
import { checkRecords } from '../../../appliance/senders/check.ts'
import { buildExpectedRecords } from '../../../appliance/senders/records.ts'
import { createWorld, type World } from '../../world/world.ts'

const active = { state: 'active' as const, retireAt: null }

let world: World
let resolver: Resolver

beforeAll(async () => {
  world = await createWorld({ domains: {} })
})
afterAll(() => world.close())

// A fresh resolver for each test, without cached answers.
beforeEach(() => {
  resolver?.close()
  resolver = createResolver({
    servers: world.dnsServers,
    clock: systemClock,
    authoritativePort: world.authoritativePort,
    timeoutMs: 300,
  })
})

const keys = [
  { selector: 'posthaste', algorithm: 'rsa-sha256' as const, publicKey: 'MIIBIjANBgkq', ...active },
]
const dkim = 'v=DKIM1; k=rsa; p=MIIBIjANBgkq'
const MX = [{ preference: 10, exchange: 'mail.sender.test' }]
const TXT = ['v=spf1 a:mail.sender.test ~all']

/** Returns `key: status` for each record of a domain, with the notes of faulty ones. */
async function check(name: string): Promise<{ statuses: string[]; notes: string[] }> {
  const records = buildExpectedRecords({ id: 'd1', name, returnPath: 'send' }, keys, {
    hostname: 'mail.sender.test',
    sourceIps: [],
  })
  const checks = await checkRecords(resolver, { name }, records)
  return {
    statuses: checks.map(({ key, status }) => `${key}: ${status}`),
    notes: checks.flatMap(({ note }) => note ?? []),
  }
}

describe('the CNAME check for tracked links', () => {
  const host = { hostname: 'mail.sender.test', sourceIps: [] }
  const look = async (name: string) => {
    const domain = { id: 'd1', name, returnPath: 'send', trackingSubdomain: 'links' }
    const record = buildExpectedRecords(domain, keys, host).at(-1)!
    const [check] = await checkRecords(resolver, domain, [record])
    return [check!.key, check!.status, check!.note]
  }

  test.each([
    ['right.test', { CNAME: 'mail.sender.test' }, 'verified', null],
    [
      'wrong.test',
      { CNAME: 'www.wrong.test' },
      'failed',
      'The CNAME points to www.wrong.test. Change it to mail.sender.test.',
    ],
    [
      'doubled.test',
      { CNAME: 'mail.sender.test.doubled.test' },
      'failed',
      'The DNS panel changed the target to mail.sender.test.doubled.test. Enter mail.sender.test. with a dot at the end.',
    ],
    [
      'address.test',
      { A: '192.0.2.1' },
      'failed',
      'links.address.test has addresses instead of a CNAME record, so a proxy is probably active. Turn off the proxy for this name ("DNS only"), or replace the addresses with the CNAME record.',
    ],
  ])('checks the CNAME for tracked links of %s', async (name, records, status, note) => {
    world.dns.set(`links.${name}`, records)
    expect(await look(name)).toEqual([`Tracking links.${name}`, status, note])
  })
})

describe("the check of a domain's DNS records", () => {
  test('verifies every record', async () => {
    world.dns.set('posthaste._domainkey.good.test', { TXT: [dkim] })
    world.dns.set('send.good.test', { MX, TXT })
    world.dns.set('_dmarc.good.test', { TXT: ['v=DMARC1; p=reject'] })
    expect(await check('good.test')).toEqual({
      statuses: ['DKIM posthaste: verified', 'SPF MX: verified', 'SPF: verified', 'DMARC: verified'],
      notes: [],
    })
  })

  test('leaves records pending while nothing is published', async () => {
    const { statuses, notes } = await check('empty.test')
    expect(statuses).toEqual(['DKIM posthaste: pending', 'SPF MX: pending', 'SPF: pending', 'DMARC: pending'])
    expect(notes).toHaveLength(4)
  })

  test('accepts a DMARC policy at the organizational domain', async () => {
    world.dns.set('_dmarc.org.test', { TXT: ['v=DMARC1; p=quarantine'] })
    expect((await check('news.org.test')).statuses.at(-1)).toBe('DMARC: verified')
  })

  test('finds a record under a doubled zone name, for a sending subdomain of the zone', async () => {
    world.dns.set('posthaste._domainkey.news.twice.test.twice.test', { TXT: [dkim] })
    const { statuses, notes } = await check('news.twice.test')
    expect(statuses[0]).toBe('DKIM posthaste: failed')
    expect(notes[0]).toBe(
      'The record is at posthaste._domainkey.news.twice.test.twice.test instead of posthaste._domainkey.news.twice.test: the DNS panel added the zone to the name. Enter the name as posthaste._domainkey.news.',
    )
  })

  test('finds a record at the parent domain if the subdomain was left out of the name', async () => {
    world.dns.set('send.short.test', { MX, TXT })
    const { notes } = await check('news.short.test')
    expect(notes[1]).toMatch(
      /^The record is at send\.short\.test instead of send\.news\.short\.test: part of the name is missing/,
    )
  })

  test('reports a CNAME whose target does not exist', async () => {
    world.dns.set('posthaste._domainkey.alias.test', { CNAME: 'gone.alias.test' })
    const { statuses, notes } = await check('alias.test')
    expect(statuses[0]).toBe('DKIM posthaste: failed')
    expect(notes[0]).toMatch(/^posthaste\._domainkey\.alias\.test is a CNAME to gone\.alias\.test/)
  })

  test('follows a CNAME to the right record', async () => {
    world.dns.set('posthaste._domainkey.delegated.test', { CNAME: 'key.hosted.test' })
    world.dns.set('key.hosted.test', { TXT: [dkim] })
    expect((await check('delegated.test')).statuses[0]).toBe('DKIM posthaste: verified')
  })

  test('reports a temporary failure when name servers fail', async () => {
    world.dns.set('posthaste._domainkey.broken.test', 'SERVFAIL')
    const { statuses, notes } = await check('broken.test')
    expect(statuses[0]).toBe('DKIM posthaste: temporary_failure')
    expect(notes[0]).toMatch(
      /^The DNS lookup of posthaste\._domainkey\.broken\.test failed: .* Check again later\.$/,
    )
  })
})
