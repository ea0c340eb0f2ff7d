import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { evaluateHelo, evaluateHostAddresses } from '../../../appliance/insights/helo.ts'
import { lookUpPtr, buildPtrName } from '../../../appliance/dns/reverse.ts'
import { evaluatePtr } from '../../../appliance/sources/ptr.ts'
import { explainSpf } from '../../../appliance/sources/spf.ts'
import { list, said, startNames, type Names } from './fixtures.ts'
import {
  queryBlocklist,
  evaluateListing,
  summarizeListings,
  lookUpHost,
  looksGeneric,
  evaluateSpf,
} from '../../../appliance/sources/sources.ts'

const HELO = 'mail.acme.example'
let names: Names
beforeAll(async () => {
  names = await startNames({
    '1.2.0.192.in-addr.arpa': { PTR: HELO },
    [HELO]: { A: ['192.0.2.1', '192.0.2.4'], AAAA: '2001:db8::1' },
    '3.2.0.192.in-addr.arpa': { PTR: HELO },
    '4.2.0.192.in-addr.arpa': { PTR: ['web.acme.example', HELO] },
    '5.2.0.192.in-addr.arpa': { PTR: 'other.acme.example' },
    'other.acme.example': { A: '192.0.2.5' },
    '6.2.0.192.in-addr.arpa': 'SERVFAIL',
    '7.2.0.192.in-addr.arpa': { PTR: 'broken.acme.example' },
    'broken.acme.example': 'SERVFAIL',
    '8.2.0.192.in-addr.arpa': { PTR: 'gone.acme.example' },
    '9.2.0.192.in-addr.arpa': { PTR: 'ip-192-0-2-9.acme.example' },
    'ip-192-0-2-9.acme.example': { A: '192.0.2.9' },
    [buildPtrName('2001:db8::1')]: { PTR: HELO },
    '2.0.0.127.bl.test': { A: '127.0.0.2' },
    '2.0.0.127.empty.test': { A: '127.0.0.2' },
    '2.0.0.127.void.test': { A: '127.0.0.2' },
    '1.2.0.192.bl.test': { A: '127.0.0.2' },
    '2.2.0.192.bl.test': { A: '127.255.255.254' },
    '3.2.0.192.bl.test': { A: '203.0.113.9' },
    '4.2.0.192.bl.test': 'SERVFAIL',
    '5.2.0.192.bl.test': { A: '127.0.0.77' },
    '*.dead.test': { A: '127.0.0.2' },
    'send.acme.example': { TXT: 'v=spf1 ip6:2001:db8::/64 ~all' },
    'send.four.example': { TXT: 'v=spf1 ip4:192.0.2.1 ~all' },
    'send.name.example': { TXT: `v=spf1 a:${HELO} -all` },
    'send.slow.example': 'SERVFAIL',
    'nowhere.acme.example': { TXT: 'only text' },
    'slow.acme.example': 'SERVFAIL',
  })
})
afterAll(() => names.close())

describe('reverse DNS', () => {
  const judge = async (ip: string, helo = HELO) => said(evaluatePtr(await lookUpPtr(names.fresh(), ip), helo))
  const ask = (ip: string, helo = HELO) =>
    `Set the PTR record of ${ip} to ${helo}. The provider of the address can do this, often in its control panel.`

  test('reverse DNS passes if it resolves back to the address, over IPv4 and IPv6', async () => {
    expect(await judge('192.0.2.1')).toEqual([
      'ok',
      `192.0.2.1 resolves to ${HELO}, and ${HELO} resolves to 192.0.2.1.`,
      null,
    ])
    expect(await judge('192.0.2.4')).toEqual([
      'ok',
      `192.0.2.4 resolves to ${HELO}, and ${HELO} resolves to 192.0.2.4.`,
      null,
    ])
    expect(await judge('2001:db8::1')).toEqual([
      'ok',
      `2001:db8::1 resolves to ${HELO}, and ${HELO} resolves to 2001:db8::1.`,
      null,
    ])
  })

  test('reverse DNS fails without a record', async () => {
    expect(await judge('192.0.2.2')).toEqual([
      'failed',
      '192.0.2.2 has no PTR record. Large providers refuse mail from such addresses.',
      ask('192.0.2.2'),
    ])
  })

  test('reverse DNS fails if it resolves elsewhere, and the finding names the missing record', async () => {
    expect(await judge('192.0.2.3')).toEqual([
      'failed',
      `The PTR record of 192.0.2.3 is ${HELO} (192.0.2.1, 192.0.2.4), which does not resolve back to it.`,
      `Publish the A record 192.0.2.3 for ${HELO}.`,
    ])
    expect(await judge('192.0.2.8')).toEqual([
      'failed',
      'The PTR record of 192.0.2.8 is gone.acme.example (no address), which does not resolve back to it.',
      ask('192.0.2.8'),
    ])
  })

  test('reverse DNS warns of a name other than the EHLO name', async () => {
    const [status, found] = await judge('192.0.2.5')
    expect([status, found]).toEqual([
      'warning',
      `The PTR record of 192.0.2.5 is other.acme.example, which resolves back to it, but the EHLO name is ${HELO}.`,
    ])
  })

  test('reverse DNS warns of a name that looks like a residential connection', async () => {
    expect((await judge('192.0.2.9', 'ip-192-0-2-9.acme.example')).slice(0, 2)).toEqual([
      'warning',
      'The PTR record of 192.0.2.9 is ip-192-0-2-9.acme.example, which looks like a residential connection.',
    ])
  })

  test('reverse DNS is skipped when a DNS lookup fails in either direction', async () => {
    expect((await judge('192.0.2.6'))[0]).toBe('skipped')
    expect((await judge('192.0.2.7'))[0]).toBe('skipped')
  })

  test.each([
    ['ip-192-0-2-9.eu.example.com', true],
    ['host-203-0-113-7.example.net', true],
    ['dsl-7.example.net', true],
    ['pool7.example.net', true],
    ['c0a80101.example.net', true],
    ['mail.example.com', false],
    ['mx1-2.example.com', false],
    ['out4.mail.example.com', false],
    ['smtp-relay-2024.example.com', false],
  ])('looksGeneric for %s returns %s', (name, generic) => {
    expect(looksGeneric(name)).toBe(generic)
  })
})

describe('a blocklist', () => {
  const judge = async (what: string, more = {}) =>
    said(evaluateListing(await queryBlocklist(names.fresh(), { ...list, ...more }, what)))

  test('a blocklist that does not list the address passes', async () => {
    expect(await judge('192.0.2.9')).toEqual(['ok', 'Test list does not list 192.0.2.9.', null])
    expect(await judge('2001:db8::1')).toEqual(['ok', 'Test list does not list 2001:db8::1.', null])
    expect(names.dns.queries.map(({ name }) => name)).toContain(
      '1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.bl.test',
    )
  })

  test('a blocklist that lists the address fails, or warns if listings do not suspend', async () => {
    const found = 'Test list lists 192.0.2.1: sent spam (127.0.0.2).'
    const advice =
      'First find and stop the mail that caused the listing. Then request removal at https://bl.test/'
    expect(await judge('192.0.2.1')).toEqual(['failed', found, advice])
    expect(await judge('192.0.2.1', { suspend: false })).toEqual(['warning', found, advice])
    expect((await judge('192.0.2.5'))[1]).toBe(
      'Test list lists 192.0.2.5: an unknown return code (127.0.0.77).',
    )
  })

  test('a blocklist is skipped if it rejects the resolver, its answers are altered, or it is dead', async () => {
    expect(await judge('192.0.2.2')).toEqual([
      'skipped',
      'Test list refuses queries from this resolver (127.255.255.254: the resolver is a public one).',
      'Run a resolver on this machine to query Test list.',
    ])
    expect(await judge('192.0.2.3')).toEqual([
      'skipped',
      'Test list appears to return 203.0.113.9, which blocklists never do: something on the network path changes DNS answers.',
      'Run a resolver on this machine.',
    ])
    expect(await judge('192.0.2.1', { zone: 'dead.test' })).toEqual([
      'skipped',
      'Test list lists every address, so its answers mean nothing: the list was probably shut down.',
      null,
    ])
    expect((await judge('192.0.2.4'))[0]).toBe('skipped')
    expect(await judge('192.0.2.9', { zone: 'deaf.test' })).toEqual([
      'skipped',
      'Test list does not list its own test entry, so it cannot be queried through this resolver.',
      null,
    ])
  })

  test('summarizes a blocklist that lists the address separately, and the others on one line', async () => {
    const ask = async (zone: string) =>
      evaluateListing(await queryBlocklist(names.fresh(), { ...list, zone, name: zone }, '192.0.2.1'))
    const all = [
      await ask('bl.test'),
      await ask('empty.test'),
      await ask('void.test'),
      await ask('dead.test'),
    ]
    expect(summarizeListings('192.0.2.1', all).map(({ id, status, found }) => [id, status, found])).toEqual([
      ['blocklist:bl.test:192.0.2.1', 'failed', 'bl.test lists 192.0.2.1: sent spam (127.0.0.2).'],
      [
        'blocklists:192.0.2.1:unasked',
        'skipped',
        'dead.test lists every address, so its answers mean nothing: the list was probably shut down.',
      ],
      ['blocklists:192.0.2.1', 'ok', '192.0.2.1 is not on empty.test, void.test.'],
    ])
  })
})

describe('the EHLO name', () => {
  const judge = async (name: string) => said(evaluateHelo(await lookUpHost(names.fresh(), name)))

  test('an EHLO name passes if it is fully qualified and resolves', async () => {
    names.dns.set('mail.acme.org', { A: '192.0.2.1' })
    expect(await judge('mail.acme.org')).toEqual([
      'ok',
      'mail.acme.org is fully qualified and resolves.',
      null,
    ])
  })

  test.each(['mail.local', 'mail.acme.lan', 'mail'])(
    'the EHLO name %s fails because it is only local',
    async (name) => {
      expect((await judge(name)).slice(0, 2)).toEqual([
        'failed',
        `${name} exists only in the local network, so receivers cannot look it up.`,
      ])
    },
  )

  test('an EHLO name fails without an address, and is skipped when DNS fails', async () => {
    names.dns.set('nowhere.acme.org', { TXT: 'only text' })
    names.dns.set('slow.acme.org', 'SERVFAIL')
    expect(await judge('nowhere.acme.org')).toEqual([
      'failed',
      'nowhere.acme.org has no address record. Many receivers refuse mail from a server whose name does not resolve.',
      'Publish an A record for nowhere.acme.org with the public address of this machine.',
    ])
    expect((await judge('slow.acme.org'))[0]).toBe('skipped')
  })

  test('an EHLO name that looks generic causes a warning', async () => {
    names.dns.set('dsl-7.acme.org', { A: '192.0.2.1' })
    expect((await judge('dsl-7.acme.org'))[0]).toBe('warning')
  })

  test('compares the addresses of the EHLO name with those of this machine', async () => {
    const host = await lookUpHost(names.fresh(), HELO)
    const at = (ip: string, behind: string | null = null) => ({ ip, family: 4 as const, behind })
    expect(evaluateHostAddresses(host, [at('192.0.2.4')]).status).toBe('ok')
    expect(evaluateHostAddresses(host, [at('192.0.2.1', '10.0.0.2')]).found).toBe(
      `${HELO} resolves to 192.0.2.1, 192.0.2.4, 2001:db8::1, but this machine is 10.0.0.2, so it is behind a router (NAT). Posthaste assumes that the router sends from 192.0.2.1.`,
    )
    expect(said(evaluateHostAddresses(host, [at('203.0.113.1')]))).toEqual([
      'warning',
      `${HELO} resolves to 192.0.2.1, 192.0.2.4, 2001:db8::1, but mail is sent from 203.0.113.1.`,
      `Publish 203.0.113.1 for ${HELO}, or send from the published address (delivery.source_ips).`,
    ])
    expect(evaluateHostAddresses(host, []).status).toBe('warning')
    expect(evaluateHostAddresses(await lookUpHost(names.fresh(), 'gone.example'), []).status).toBe('skipped')
  })
})

describe('SPF for a sending IP', () => {
  const judge = async (domain: string) =>
    said(explainSpf(await evaluateSpf(names.fresh(), { ip: '2001:db8::1', domain, helo: HELO })))

  test('SPF passes by network and by host name', async () => {
    expect(await judge('send.acme.example')).toEqual([
      'ok',
      'send.acme.example allows mail from 2001:db8::1.',
      null,
    ])
    expect((await judge('send.name.example'))[0]).toBe('ok')
  })

  test('SPF fails if the policy excludes the IP or is missing, and is skipped when DNS fails', async () => {
    expect((await judge('send.four.example')).slice(0, 2)).toEqual([
      'failed',
      'SPF of send.four.example does not allow mail from 2001:db8::1 (softfail).',
    ])
    expect((await judge('send.none.example'))[0]).toBe('failed')
    expect((await judge('send.slow.example'))[0]).toBe('skipped')
  })
})
