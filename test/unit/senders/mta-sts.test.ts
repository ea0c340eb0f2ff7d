import { describe, expect, test } from 'vitest'
import { readStsPolicy, readStsRecord } from '../../../appliance/delivery/policy/sts.ts'
import { policyFile, policyRecord } from '../../../appliance/senders/mta-sts.ts'
import { expectedRecords, type SendingHost } from '../../../appliance/senders/records.ts'
import { publishedRecords } from '../../../appliance/senders/senders.ts'
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
const enforced = policyFile(host.hostname, NOW + 60 * DAY, NOW)
const tested = policyFile(host.hostname, 0, NOW)

describe('the policy file', () => {
  test('demands encryption only if the certificate lasts longer than senders keep the policy', () => {
    const expected = { mx: ['mail.example.net'], maxAge: 604_800 }
    expect(readStsPolicy(enforced)).toEqual({ mode: 'enforce', ...expected })
    expect(readStsPolicy(tested)).toEqual({ mode: 'testing', ...expected })
    const modeWith = (left: number) => readStsPolicy(policyFile(host.hostname, NOW + left, NOW))
    expect(modeWith(7 * DAY)).toMatchObject({ mode: 'testing' })
    expect(modeWith(7 * DAY + 1)).toMatchObject({ mode: 'enforce' })
  })

  test('has an id that changes with its content, and only then', () => {
    const idOf = (file: string) => readStsRecord([policyRecord('send.acme.com', file).value])
    expect(idOf(enforced)).toMatchObject({ kind: 'id' })
    expect(idOf(policyFile(host.hostname, NOW + 30 * DAY, NOW + DAY))).toEqual(idOf(enforced))
    expect(idOf(tested)).not.toEqual(idOf(enforced))
    expect(idOf(policyFile('mx.example.net', 0, NOW))).not.toEqual(idOf(tested))
  })
})

describe('the DNS server publishes', () => {
  const namesOf = (
    one: Domain,
    policyOf?: (apex: string) => string | null,
    of: SendingHost = host,
  ): string[] =>
    publishedRecords(of, policyOf)
      .zonesOf([served(one)])
      .slice(1)
      .flatMap(({ records }) => records.map(({ type, name }) => `${type} ${name}`))
      .filter((name) => name.includes('mta-sts'))

  test('the name of the host at once, and the record when there is a policy', () => {
    expect(namesOf(domain())).toEqual(['CNAME mta-sts.send.acme.com'])
    const asked: string[] = []
    const policyOf = (apex: string) => {
      asked.push(apex)
      return enforced
    }
    expect(namesOf(domain(), policyOf)).toEqual(['CNAME mta-sts.send.acme.com', 'TXT _mta-sts.send.acme.com'])
    expect(asked).toEqual(['send.acme.com'])
  })

  test('neither for a server without policies, nor for a domain that delegates only keys', () => {
    const policyOf = () => enforced
    expect(namesOf(domain(), policyOf, { ...host, policies: false })).toEqual([])
    expect(namesOf(domain({ delegation: 'cname' }), policyOf)).toEqual([])
  })

  test('one record for a tracking subdomain with the name of the host', () => {
    expect(namesOf(domain({ trackingSubdomain: 'mta-sts.send' }))).toEqual(['CNAME mta-sts.send.acme.com'])
  })
})

test('the name of the host is listed among the served records', () => {
  const listed = expectedRecords(domain(), [], { ...host, webHost: 'www.example.net' })
  expect(listed.find(({ record }) => record === 'MTA-STS')).toMatchObject({
    key: 'STS mta-sts.send.acme.com',
    type: 'CNAME',
    name: 'mta-sts.send',
    value: 'www.example.net',
    served: true,
    required: false,
  })
})
