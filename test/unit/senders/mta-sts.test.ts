import { describe, expect, test } from 'vitest'
import { parseStsPolicy, parseStsRecord } from '../../../appliance/delivery/policy/sts.ts'
import { formatPolicyFile, buildPolicyRecord } from '../../../appliance/senders/mta-sts.ts'
import { buildExpectedRecords, type SendingHost } from '../../../appliance/senders/records.ts'
import { createZoneBuilder } from '../../../appliance/senders/senders.ts'
import type { Domain, ServedDomain } from '../../../appliance/storage/storage.ts'

const DAY = 86_400_000
const NOW = Date.UTC(2026, 0, 1)
const ZONE = 'dns.mail.example.net'
const host: SendingHost = {
  hostname: 'Mail.example.net',
  sourceIps: ['192.0.2.1'],
  nameserver: { zone: ZONE, names: ['mail.example.net'], rotateMs: 90 * DAY },
  policies: true,
}
const domain = (change: Partial<Domain> = {}) =>
  ({
    id: 'd1',
    name: 'acme.com',
    returnPath: 'send',
    trackingSubdomain: null,
    delegation: 'ns',
    ...change,
  }) as Domain
const served = (one: Domain): ServedDomain => ({ domain: one, keys: [], holds: true })
const enforced = formatPolicyFile(host.hostname, NOW + 60 * DAY, NOW)
const tested = formatPolicyFile(host.hostname, 0, NOW)

describe('the policy file', () => {
  test('the policy enforces TLS only if the certificate lasts longer than senders cache the policy', () => {
    const expected = { mx: ['mail.example.net'], maxAge: 604_800 }
    expect(parseStsPolicy(enforced)).toEqual({ mode: 'enforce', ...expected })
    expect(parseStsPolicy(tested)).toEqual({ mode: 'testing', ...expected })
    const modeWith = (left: number) => parseStsPolicy(formatPolicyFile(host.hostname, NOW + left, NOW))
    expect(modeWith(7 * DAY)).toMatchObject({ mode: 'testing' })
    expect(modeWith(7 * DAY + 1)).toMatchObject({ mode: 'enforce' })
  })

  test('the policy ID changes only if the content changes', () => {
    const idOf = (file: string) => parseStsRecord([buildPolicyRecord('send.acme.com', file).value])
    expect(idOf(enforced)).toMatchObject({ kind: 'id' })
    expect(idOf(formatPolicyFile(host.hostname, NOW + 30 * DAY, NOW + DAY))).toEqual(idOf(enforced))
    expect(idOf(tested)).not.toEqual(idOf(enforced))
    expect(idOf(formatPolicyFile('mx.example.net', 0, NOW))).not.toEqual(idOf(tested))
  })
})

describe('published MTA-STS records', () => {
  const namesOf = (
    one: Domain,
    policyOf?: (apex: string) => string | null,
    of: SendingHost = host,
  ): string[] =>
    createZoneBuilder(of, policyOf)
      .zonesOf([served(one)])
      .slice(1)
      .flatMap(({ records }) => records.map(({ type, name }) => `${type} ${name}`))
      .filter((name) => name.includes('mta-sts'))

  test('publishes the name of the policy host at once, and the TXT record once there is a policy', () => {
    expect(namesOf(domain())).toEqual(['CNAME mta-sts.send.acme.com'])
    const asked: string[] = []
    const policyOf = (apex: string) => {
      asked.push(apex)
      return enforced
    }
    expect(namesOf(domain(), policyOf)).toEqual(['CNAME mta-sts.send.acme.com', 'TXT _mta-sts.send.acme.com'])
    expect(asked).toEqual(['send.acme.com'])
  })

  test('publishes nothing for a server without policies, or for a domain that delegates only keys', () => {
    const policyOf = () => enforced
    expect(namesOf(domain(), policyOf, { ...host, policies: false })).toEqual([])
    expect(namesOf(domain({ delegation: 'cname' }), policyOf)).toEqual([])
  })

  test('publishes one record if the tracking subdomain has the name of the policy host', () => {
    expect(namesOf(domain({ trackingSubdomain: 'mta-sts.send' }))).toEqual(['CNAME mta-sts.send.acme.com'])
  })
})

test('lists the name of the policy host among the served records', () => {
  const listed = buildExpectedRecords(domain(), [], { ...host, webHost: 'www.example.net' })
  expect(listed.find(({ record }) => record === 'MTA-STS')).toMatchObject({
    key: 'STS mta-sts.send.acme.com',
    type: 'CNAME',
    name: 'mta-sts.send',
    value: 'www.example.net',
    served: true,
    required: false,
  })
})
