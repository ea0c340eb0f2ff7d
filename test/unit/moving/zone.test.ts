import { describe, expect, test } from 'vitest'
import { parseHostedDomain, listSelectors } from '../../../appliance/moving/objects.ts'
import { mergeSpf } from '../../../appliance/moving/zone.ts'
import { matchWebhooks, type HostedWebhook } from '../../../appliance/moving/webhooks.ts'
import { buildExpectedRecords, type KeyRecordFields } from '../../../appliance/senders/records.ts'
import type { Domain } from '../../../appliance/storage/storage.ts'
import { sharesReturnPath, formatZoneFile } from '../../../appliance/moving/moving.ts'

/** A domain as the hosted service returns it, with names relative to the registrable domain. */
const wire = {
  id: 'd1',
  name: 'news.acme.example',
  region: 'eu-west-1',
  status: 'verified',
  open_tracking: true,
  click_tracking: false,
  tracking_subdomain: 'links',
  tls: 'enforced',
  capabilities: { sending: 'enabled', receiving: 'disabled' },
  records: [
    {
      record: 'SPF',
      name: 'bounce.news',
      type: 'MX',
      ttl: 'Auto',
      value: 'feedback-smtp.eu.ses.example',
      priority: 10,
    },
    { record: 'SPF', name: 'bounce.news', type: 'TXT', value: '"v=spf1 include:ses.example ~all"' },
    { record: 'DKIM', name: 'resend._domainkey.news', type: 'TXT', value: 'p=MIGf' },
    { record: 'Tracking', name: 'links.news', type: 'CNAME', value: 'links1.dns.example' },
    { record: 'Broken', name: 7 },
    null,
  ],
}
const theirs = parseHostedDomain(wire, 'news.acme.example')
const key: KeyRecordFields = {
  selector: 'posthaste',
  algorithm: 'rsa-sha256',
  state: 'active',
  retireAt: null,
  publicKey: 'A'.repeat(300),
}
const host = { hostname: 'mail.acme.example', sourceIps: ['192.0.2.7'] }
const moved = (returnPath: string, trackingSubdomain: string | null) => {
  const domain = { id: 'd1', name: 'news.acme.example', returnPath, trackingSubdomain } as Domain
  return { domain, records: buildExpectedRecords(domain, [key], host), theirs: theirs.records }
}

describe('a domain of the hosted service', () => {
  test('reads a domain with the return path from its records', () => {
    expect(theirs).toMatchObject({
      id: 'd1',
      name: 'news.acme.example',
      region: 'eu-west-1',
      returnPath: 'bounce',
      settings: {
        openTracking: true,
        clickTracking: false,
        trackingSubdomain: 'links',
        tls: 'enforced',
        sending: true,
        receiving: false,
      },
    })
    expect(listSelectors(theirs)).toEqual(['resend'])
  })

  test('a domain with only a name has no settings', () => {
    expect(parseHostedDomain({ id: 'x' }, 'acme.example')).toEqual({
      id: 'x',
      name: 'acme.example',
      region: null,
      returnPath: null,
      settings: {},
      records: [],
    })
  })
})

describe('the zone file for a migration', () => {
  const long = `( "v=DKIM1; k=rsa; p=${'A'.repeat(237)}" "${'A'.repeat(63)}" )`
  test('the zone file lists records to add now, and records to replace at the switch', () => {
    const zone = formatZoneFile([moved('bounce', 'links')])
    expect(zone).toBe(`; news.acme.example: publish now, in addition to the existing records
posthaste._domainkey.news.acme.example. 3600 IN TXT ${long}
; only if the domain has no DMARC record yet
_dmarc.news.acme.example. 3600 IN TXT "v=DMARC1; p=none; rua=mailto:reports-d625210d380852450a5c@bounce.news.acme.example"
; news.acme.example: publish at the switch, replacing the existing records
; instead of feedback-smtp.eu.ses.example
bounce.news.acme.example. 3600 IN MX 10 mail.acme.example.
; instead of "v=spf1 include:ses.example ~all"
; while both services send, use one record for both: "v=spf1 ip4:192.0.2.7 include:ses.example ~all"
bounce.news.acme.example. 3600 IN TXT "v=spf1 ip4:192.0.2.7 ~all"
; optional
; instead of links1.dns.example
; tracked links in mail already sent by the hosted service use this name and would break; use a different label
links.news.acme.example. 3600 IN CNAME mail.acme.example.
`)
    expect(sharesReturnPath(moved('bounce', null))).toBe(true)
  })

  test('the zone file lists all records at once if the return path differs', () => {
    expect(formatZoneFile([moved('post', null)])).not.toContain('at the switch')
    expect(sharesReturnPath(moved('post', 'links'))).toBe(false)
  })

  test('the zone file keeps text of the hosted service within comments', () => {
    const evil = parseHostedDomain(
      { records: [{ record: 'SPF', name: 'send', type: 'MX', value: 'x\nevil.example. IN A 192.0.2.66' }] },
      'acme.example',
    )
    const domain = { name: 'acme.example', returnPath: 'send' } as Domain
    const zone = formatZoneFile([
      { domain, records: buildExpectedRecords(domain, [key], host), theirs: evil.records },
    ])
    expect(zone).toContain('; instead of x?evil.example. IN A 192.0.2.66\n')
    expect(zone.split('\n').filter((line) => line.startsWith('evil'))).toEqual([])
  })
})

test('merges two SPF policies with ours first', () => {
  const ours = { type: 'TXT', value: 'v=spf1 a:mail.acme.example ~all' } as const
  expect(mergeSpf('v=spf1 include:ses.example -all', ours)).toBe(
    'v=spf1 a:mail.acme.example include:ses.example -all',
  )
  expect(mergeSpf('google-site-verification=1', ours)).toBe(undefined)
  expect(mergeSpf('v=spf1 -all', { type: 'MX', value: 'mail.acme.example' } as never)).toBe(undefined)
})

describe('matching webhooks of both services', () => {
  const hook = (endpoint: string, ...events: string[]): HostedWebhook => ({
    endpoint,
    events,
    unknown: [],
    enabled: true,
  })
  test('pairs webhooks by endpoint, preferring the same events', () => {
    const sent = hook('https://a.example', 'email.sent')
    const both = hook('https://a.example', 'email.bounced', 'email.sent')
    const other = hook('https://b.example', 'email.sent')
    const here = [
      { endpoint: 'https://a.example', events: ['email.sent', 'email.bounced'], id: 1 },
      { endpoint: 'https://c.example', events: ['email.sent'], id: 2 },
    ]
    expect(matchWebhooks([sent, both, other], here).map(([, one]) => one?.id)).toEqual([
      undefined,
      1,
      undefined,
    ])
    expect(matchWebhooks([sent, other], here).map(([, one]) => one?.id)).toEqual([1, undefined])
  })
})
