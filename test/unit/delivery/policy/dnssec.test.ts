import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { lookUpDane } from '../../../../appliance/delivery/policy/tlsa.ts'
import { createResolver } from '../../../../appliance/dns/resolver.ts'
import type { Resolver } from '../../../../appliance/dns/dns.ts'
import { createTestClock } from '../../../world/clock.ts'
import { type Dnssec, startDnssec } from '../../../world/dnssec.ts'

/** Tests TLSA lookups through a validating unbound. */
let dnssec: Dnssec
let resolver: Resolver

const A = 'ab'.repeat(32)
const B = 'cd'.repeat(32)

beforeAll(async () => {
  dnssec = await startDnssec({
    zone: 'signed.test',
    records: [
      'mx IN A 192.0.2.1',
      `_25._tcp.mx IN TLSA 3 1 1 ${A}`,
      'none IN A 192.0.2.2',
      'bogus IN A 192.0.2.3',
      `_25._tcp.bogus IN TLSA 3 1 1 ${B}`,
      'forged IN A 192.0.2.77',
      `_25._tcp.forged IN TLSA 3 1 1 ${A}`,
      'pkix IN A 192.0.2.4',
      `_25._tcp.pkix IN TLSA 1 1 1 ${A}`,
      'alias IN CNAME mx',
      `_25._tcp.alias IN TLSA 3 1 1 ${A.replace('ab', '00')}`,
      'alias2 IN CNAME none',
      `_25._tcp.alias2 IN TLSA 3 1 1 ${A}`,
      'away IN CNAME mx.unsigned.test.',
      `_25._tcp.away IN TLSA 3 1 1 ${A}`,
      'mixed IN A 192.0.2.5',
      `_25._tcp.mixed IN TLSA 3 1 1 ${A}`,
      `_25._tcp.mixed IN TLSA 0 0 1 ${A}`,
    ],
    forge: (signed) => signed.replace(B, A).replace('192.0.2.77', '192.0.2.78'),
    unsigned: { 'unsigned.test': ['mx IN A 192.0.2.9', `_25._tcp.mx IN TLSA 3 1 1 ${A}`] },
  })
  resolver = createResolver({ servers: [dnssec.server], clock: createTestClock() })
})
afterAll(async () => {
  resolver.close()
  await dnssec.close()
})

const look = (host: string) => lookUpDane(host, 25, resolver)
const record = { usage: 3, selector: 1, matching: 1, data: new Uint8Array(32).fill(0xab) }

describe('lookUpDane', () => {
  test('returns the TLSA records of a signed zone', async () => {
    expect(await look('mx.signed.test')).toEqual({
      kind: 'records',
      base: 'mx.signed.test',
      records: [record],
    })
  })

  test('returns none when TLSA records are proven not to exist', async () => {
    expect(await look('none.signed.test')).toEqual({ kind: 'none' })
  })

  test('fails for a host whose TLSA records have a bogus signature', async () => {
    const said = await look('bogus.signed.test')
    expect(said).toMatchObject({ kind: 'failed', base: 'bogus.signed.test' })
    expect((said as { why: string }).why).toContain('answered SERVFAIL')
  })

  test('fails for a host whose addresses have a bogus signature', async () => {
    const said = await look('forged.signed.test')
    expect(said).toMatchObject({ kind: 'failed', base: 'forged.signed.test' })
    expect((said as { why: string }).why).toContain('answered SERVFAIL')
  })

  test('ignores TLSA records in an unsigned zone', async () => {
    expect(await look('mx.unsigned.test')).toEqual({ kind: 'none' })
  })

  test('returns unusable when all TLSA records are unusable', async () => {
    expect(await look('pkix.signed.test')).toMatchObject({ kind: 'unusable', base: 'pkix.signed.test' })
  })

  test('returns only the usable TLSA records', async () => {
    expect(await look('mixed.signed.test')).toMatchObject({ kind: 'records', records: [record] })
  })

  test('uses the TLSA records of a CNAME target', async () => {
    expect(await look('alias.signed.test')).toMatchObject({ kind: 'records', base: 'mx.signed.test' })
  })

  test('uses the TLSA records of the alias if its target has none or is unsigned', async () => {
    expect(await look('alias2.signed.test')).toMatchObject({ kind: 'records', base: 'alias2.signed.test' })
    expect(await look('away.signed.test')).toMatchObject({ kind: 'records', base: 'away.signed.test' })
  })

  test('returns none for a host without addresses', async () => {
    expect(await look('missing.signed.test')).toEqual({ kind: 'none' })
  })
})
