import { expect, test } from 'vitest'
import type { Finding } from '../../../appliance/mail/finding.ts'
import { NO_REGIONS } from '../../../appliance/mail/region.ts'
import type { Assignment, Source } from '../../../appliance/mail/source.ts'
import { combineReverseDns } from '../../../appliance/senders/reverse-dns.ts'

const finding = (id: string, status: Finding['status'], found: string, advice: string | null = null) => ({
  id,
  title: id,
  status,
  found,
  advice,
})
const ok = (ip: string) => finding(`ptr:${ip}`, 'ok', `${ip} is a name, and back.`)
const none = (ip: string) => finding(`ptr:${ip}`, 'failed', `${ip} has no PTR record.`, `Have ${ip} named.`)

function source(ip: string, findings: Finding[] | null, more: Partial<Source> = {}): Source {
  return {
    ip,
    pool: 'default',
    hostname: null,
    state: 'active',
    stateReason: null,
    suspendedBy: null,
    warmUpSince: null,
    origin: 'configuration',
    checkedAt: 0,
    health: findings && { findings, ipv6: ip.includes(':') ? true : null },
    ...more,
  }
}
const assigned = (id: string, pool: string, about: Partial<Assignment>): Assignment => ({
  id,
  teamId: null,
  domainId: null,
  stream: null,
  ...about,
  pool,
})
const DOMAIN = { id: 'd', teamId: 't', region: 'us-east-1' }
const lookAt = (sources: Source[], assignments: Assignment[] = []) =>
  combineReverseDns(DOMAIN, { sources, assignments, regions: NO_REGIONS })

test('the worst sending IP decides the PTR status, and the note names it with the fix', () => {
  expect(lookAt([source('192.0.2.1', [ok('192.0.2.1')])])).toEqual({ status: 'verified', note: null })
  const warning = finding('ptr:192.0.2.3', 'warning', '192.0.2.3 is b and leads back.', 'Name it.')
  expect(lookAt([source('192.0.2.1', [ok('192.0.2.1')]), source('192.0.2.3', [warning])])).toEqual({
    status: 'warning',
    note: '192.0.2.3 is b and leads back. Name it.',
  })
  expect(
    lookAt([
      source('192.0.2.1', [ok('192.0.2.1')]),
      source('192.0.2.2', [none('192.0.2.2'), finding('blocklist:x', 'failed', 'Listed.')]),
      source('192.0.2.3', [warning]),
    ]),
  ).toEqual({ status: 'failed', note: '192.0.2.2 has no PTR record. Have 192.0.2.2 named.' })
})

test("only IPs of pools that the domain's mail uses affect its PTR status", () => {
  const sources = [
    source('192.0.2.1', [ok('192.0.2.1')]),
    source('192.0.2.2', [none('192.0.2.2')], { pool: 'bulk' }),
  ]
  expect(lookAt(sources).status).toBe('verified')
  expect(lookAt(sources, [assigned('1', 'bulk', { domainId: 'other' })]).status).toBe('verified')
  expect(lookAt(sources, [assigned('1', 'bulk', { domainId: 'd' })]).status).toBe('failed')
  expect(lookAt(sources, [assigned('1', 'bulk', { stream: 'broadcast' })]).status).toBe('failed')
  expect(lookAt(sources, [assigned('1', 'bulk', { teamId: 'other' })]).status).toBe('verified')
})

test('IPs that send nothing do not affect the PTR status', () => {
  const suspended = source('192.0.2.2', [none('192.0.2.2')], {
    state: 'suspended',
    suspendedBy: 'check',
    stateReason: 'No PTR.',
  })
  expect(lookAt([source('192.0.2.1', [ok('192.0.2.1')]), suspended]).status).toBe('verified')
  // The system has IPv6 without a PTR record, so mail is sent over IPv4 only.
  const both = source('auto', [ok('192.0.2.1'), none('2001:db8::1')])
  expect(lookAt([{ ...both, health: { ...both.health!, ipv6: false } }])).toEqual({
    status: 'verified',
    note: null,
  })
  expect(lookAt([{ ...both, health: { ...both.health!, ipv6: true } }]).status).toBe('failed')
  // Nothing in its pool works, so its mail uses the default pool.
  const bulk = { ...suspended, pool: 'bulk' }
  const toBulk = [assigned('1', 'bulk', { domainId: 'd' })]
  expect(lookAt([source('192.0.2.1', [ok('192.0.2.1')]), bulk], toBulk).status).toBe('verified')
  expect(lookAt([suspended])).toEqual({
    status: 'not_started',
    note: 'No sending IP is usable right now, so no mail is sent.',
  })
})

test('unknown PTR results are reported as not started or temporary failures', () => {
  expect(lookAt([])).toEqual({
    status: 'not_started',
    note: 'No sending IP is known yet. The server records them when it starts.',
  })
  expect(lookAt([source('auto', null)])).toEqual({
    status: 'not_started',
    note: "The system's default address has not been checked yet.",
  })
  expect(lookAt([source('192.0.2.9', null)]).note).toBe('192.0.2.9 has not been checked yet.')
  const unseen = finding('seen:auto', 'skipped', 'This machine has no public address.', 'Publish it.')
  expect(lookAt([source('auto', [unseen])])).toEqual({
    status: 'not_started',
    note: 'This machine has no public address. Publish it.',
  })
  const unanswered = finding('ptr:192.0.2.1', 'skipped', 'The DNS lookup failed: timeout.')
  expect(lookAt([source('192.0.2.1', [unanswered])])).toEqual({
    status: 'temporary_failure',
    note: 'The DNS lookup failed: timeout.',
  })
})

test('names three of many IPs with the same problem', () => {
  const ips = [1, 2, 3, 4, 5].map((last) => `192.0.2.${last}`)
  expect(lookAt(ips.map((ip) => source(ip, [none(ip)]))).note).toBe(
    [...ips.slice(0, 3).map((ip) => `${ip} has no PTR record. Have ${ip} named.`), 'And 2 more.'].join(' '),
  )
})
