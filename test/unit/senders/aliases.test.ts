import { describe, expect, test } from 'vitest'
import { findFreeSlots, overlapsServerNames, PUBLISH_LEAD_MS } from '../../../appliance/senders/aliases.ts'
import { buildExpectedRecords, type SendingHost } from '../../../appliance/senders/records.ts'
import { isRotationDue, advanceKeyStates } from '../../../appliance/senders/rotation.ts'
import { createZoneBuilder } from '../../../appliance/senders/senders.ts'
import type { DkimKeyState, Domain, RecordStatus, ServedDomain } from '../../../appliance/storage/storage.ts'

const T0 = Date.UTC(2026, 0, 1)
const DAY = 86_400_000
const ZONE = 'dns.mail.example.net'
const host: SendingHost = {
  hostname: 'mail.example.net',
  sourceIps: ['192.0.2.1'],
  nameserver: { zone: ZONE, names: ['mail.example.net'], rotateMs: 90 * DAY },
}
const key = (selector: string, state: DkimKeyState, change: object = {}) => ({
  id: selector,
  domainId: 'd1',
  selector,
  algorithm: selector.includes('ed25519') ? ('ed25519-sha256' as const) : ('rsa-sha256' as const),
  publicKey: `KEY-${selector}`,
  state,
  stateSince: T0,
  retireAt: null,
  ...change,
})
const domain = (delegation: Domain['delegation'], change: Partial<Domain> = {}) =>
  ({
    id: 'd1',
    name: 'acme.com',
    returnPath: 'send',
    trackingSubdomain: null,
    delegation,
    ...change,
  }) as Domain
const check = (selector: string, status: RecordStatus = 'verified') => ({
  key: `DKIM ${selector}`,
  status,
  found: [],
  note: null,
  checkedAt: T0,
  since: T0,
})

describe('the records of a domain that delegates its keys', () => {
  const dkim = (delegation: Domain['delegation'], keys: ReturnType<typeof key>[]) =>
    buildExpectedRecords(domain(delegation), keys, host)
      .filter(({ record }) => record === 'DKIM')
      .map(({ type, name, value, required, label }) => [type, name, value, required, label])

  test('the records are four aliases that contain the domain’s ID; only the one of the signing key is required', () => {
    expect(dkim('cname', [key('posthaste2', 'active')])).toEqual([
      ['CNAME', 'posthaste2._domainkey', `posthaste2.d1.${ZONE}`, true, null],
      ['CNAME', 'posthaste1._domainkey', `posthaste1.d1.${ZONE}`, false, 'next key'],
      ['CNAME', 'posthaste-ed25519-1._domainkey', `posthaste-ed25519-1.d1.${ZONE}`, false, 'optional'],
      ['CNAME', 'posthaste-ed25519-2._domainkey', `posthaste-ed25519-2.d1.${ZONE}`, false, 'optional'],
    ])
  })

  test('the records include the previous signing key until it is retired', () => {
    const keys = [key('posthaste', 'active'), key('posthaste1', 'pending')]
    expect(dkim('cname', keys)[0]).toEqual(['TXT', 'posthaste._domainkey', expect.any(String), true, null])
  })

  test('a domain that no longer delegates has the aliases in use and a new key', () => {
    const keys = [key('posthaste1', 'active'), key('posthaste-20260101', 'pending')]
    expect(dkim('none', keys).map(([type, name]) => [type, name])).toEqual([
      ['CNAME', 'posthaste1._domainkey'],
      ['TXT', 'posthaste-20260101._domainkey'],
    ])
  })

  test('without a DNS server, the records contain the keys themselves', () => {
    const keys = [key('posthaste1', 'active')]
    const records = buildExpectedRecords(domain('cname'), keys, { ...host, nameserver: undefined })
    expect(records[0]).toMatchObject({ type: 'TXT', value: 'v=DKIM1; k=rsa; p=KEY-posthaste1' })
  })

  test('with NS delegation, the delegation comes first, and records below it are served', () => {
    const records = buildExpectedRecords(domain('ns', { trackingSubdomain: 'links.send' }), [], host)
    expect(records[0]).toMatchObject({
      record: 'Delegation',
      type: 'NS',
      name: 'send',
      served: false,
      required: false,
    })
    expect(records.filter(({ served }) => served).map(({ key: one }) => one)).toEqual([
      'SPF MX',
      'SPF',
      'Tracking links.send.acme.com',
    ])
  })
})

describe('the published zones', () => {
  const served = (one: Domain, keys: ReturnType<typeof key>[] = [], holds = true): ServedDomain => ({
    domain: one,
    keys,
    holds,
  })
  const { zonesOf } = createZoneBuilder(host)

  test('the zone has a record for each alias, revoked if there is no key', () => {
    const [zone] = zonesOf([served(domain('cname'), [key('posthaste2', 'retiring')])])
    expect(zone!.records).toEqual([
      { type: 'TXT', name: `posthaste1.d1.${ZONE}`, value: 'v=DKIM1; k=rsa; p=' },
      { type: 'TXT', name: `posthaste2.d1.${ZONE}`, value: 'v=DKIM1; k=rsa; p=KEY-posthaste2' },
      { type: 'TXT', name: `posthaste-ed25519-1.d1.${ZONE}`, value: 'v=DKIM1; k=ed25519; p=' },
      { type: 'TXT', name: `posthaste-ed25519-2.d1.${ZONE}`, value: 'v=DKIM1; k=ed25519; p=' },
    ])
  })

  test('the zone of a return path has its MX, SPF and TLS-RPT records', () => {
    const [, zone] = zonesOf([served(domain('ns'))])
    expect(zone!.apex).toBe('send.acme.com')
    expect(zone!.records.map(({ type, name }) => `${type} ${name}`)).toEqual([
      'MX send.acme.com',
      'TXT send.acme.com',
      'TXT _smtp._tls.send.acme.com',
    ])
  })

  test('the zone of a name belongs to the team that verified it', () => {
    const [first, second] = [domain('ns'), domain('ns', { id: 'd2' })]
    const tlsOf = (all: ServedDomain[]) =>
      zonesOf(all)
        .slice(1)
        .map(({ records }) => JSON.stringify(records.at(-1)))
    const [ofFirst, ofSecond] = [tlsOf([served(first)]), tlsOf([served(second)])]
    expect(ofFirst).not.toEqual(ofSecond)
    expect(tlsOf([served(first, [], false), served(second)])).toEqual(ofSecond)
    expect(tlsOf([served(first), served(second, [], false)])).toEqual(ofFirst)
    expect(tlsOf([served(first, [], false), served(second, [], false)])).toEqual(ofFirst)
  })

  test('the zones never include names of the server itself', () => {
    for (const name of ['mail.example.net', 'example.net', ZONE, `x.${ZONE}`]) {
      expect(overlapsServerNames(name, host)).toBe(true)
      const dot = name.indexOf('.')
      const foreign = domain('ns', { name: name.slice(dot + 1), returnPath: name.slice(0, dot) })
      expect(zonesOf([served(foreign)])).toHaveLength(1)
    }
    expect(overlapsServerNames('send.example.net', host)).toBe(false)
  })
})

describe('automatic rotation', () => {
  test('a rotation uses the selector that no key needs', () => {
    const selectors = (...keys: ReturnType<typeof key>[]) =>
      findFreeSlots(keys).map(({ selector }) => selector)
    expect(selectors()).toEqual(['posthaste1', 'posthaste-ed25519-1'])
    expect(selectors(key('posthaste1', 'active'))).toEqual(['posthaste2', 'posthaste-ed25519-1'])
    expect(selectors(key('posthaste1', 'retired'), key('posthaste2', 'active'))[0]).toBe('posthaste1')
    expect(selectors(key('posthaste1', 'retiring'), key('posthaste2', 'active'))).toEqual([
      'posthaste-ed25519-1',
    ])
    expect(selectors(key('posthaste1', 'pending'))[0]).toBe('posthaste1')
  })

  test('a rotation is due at first, then once a key has signed long enough and the next alias is published', () => {
    const due = (keys: ReturnType<typeof key>[], days: number, ...checks: ReturnType<typeof check>[]) =>
      isRotationDue(keys, checks, { now: T0 + days * DAY, rotateMs: 90 * DAY })
    const next = check('posthaste2')
    expect(due([key('posthaste', 'active')], 0)).toBe(true)
    expect(due([key('posthaste', 'active'), key('posthaste1', 'pending')], 0)).toBe(false)
    const all = [key('posthaste', 'active'), key('posthaste1', 'retiring'), key('posthaste2', 'retiring')]
    expect(due(all, 0)).toBe(false)
    expect(due([key('posthaste1', 'active')], 89, next)).toBe(false)
    expect(due([key('posthaste1', 'active')], 90, next)).toBe(true)
    expect(due([key('posthaste1', 'active')], 90)).toBe(false)
    expect(due([key('posthaste1', 'active')], 90, check('posthaste2', 'pending'))).toBe(false)
    expect(due([key('posthaste1', 'active'), key('posthaste2', 'retiring')], 90, next)).toBe(false)
    expect(due([key('posthaste1', 'active'), key('posthaste2', 'pending')], 90, next)).toBe(false)
  })

  test('publishes a key for an hour before it signs, unless the domain cannot send yet', () => {
    const keys = [key('posthaste1', 'active'), key('posthaste2', 'pending')]
    const checks = [check('posthaste1'), check('posthaste2')]
    expect(advanceKeyStates(keys, checks, T0 + PUBLISH_LEAD_MS - 1)).toEqual([])
    expect(
      advanceKeyStates(keys, checks, T0 + PUBLISH_LEAD_MS).map(({ id, state }) => `${id} ${state}`),
    ).toEqual(['posthaste1 retiring', 'posthaste2 active'])
    expect(advanceKeyStates(keys, checks, T0, false)).toHaveLength(2)
    // A key whose owner publishes its record has a new selector, which no resolver remembers.
    const owned = [key('posthaste', 'active'), key('posthaste-20260101', 'pending')]
    expect(advanceKeyStates(owned, [check('posthaste-20260101')], T0)).toHaveLength(2)
  })
})
