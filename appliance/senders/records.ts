import { getDomain } from 'tldts'
import { isIPv6 } from 'node:net'
import type { DkimKey } from '../storage/storage.ts'

/** One DNS record that the owner of a sending domain publishes, and how it is shown. */
export interface ExpectedRecord {
  /** Ties the record to its check: `DKIM`, `SPF MX`, `SPF`, `DMARC`; a second DKIM key is `DKIM <selector>`. */
  key: string
  /** The heading under which the wire format lists it. */
  record: 'DKIM' | 'SPF' | 'DMARC'
  type: 'TXT' | 'MX'
  /** Owner name relative to the registrable zone, as most DNS panels want it. */
  name: string
  /** The whole owner name, without the root dot. */
  fqdn: string
  value: string
  /** Preference of an MX record; null for the others. */
  priority: number | null
  /** False for advice: the domain may send without it. */
  required: boolean
}

/** What this host is to receivers of its mail. */
export interface SendingHost {
  /** Target of the return-path MX records, A-labels. */
  hostname: string
  /** Addresses that mail leaves from; empty when the system chooses. */
  sourceIps: readonly string[]
}

/** The zone in which the records of `domain` are published: its registrable domain, by the public suffix list. */
export function zoneOf(domain: string): string {
  return getDomain(domain, { validateHostname: false }) ?? domain
}

/** The SPF policy of the return path (RFC 7208 §4.5, §5.3, §5.6). */
export function spfPolicy({ hostname, sourceIps }: SendingHost): string {
  const ours = sourceIps.map((ip) => (isIPv6(ip) ? `ip6:${ip}` : `ip4:${ip}`))
  return ['v=spf1', ...(ours.length > 0 ? ours : [`a:${hostname}`]), '~all'].join(' ')
}

/** The DKIM key record (RFC 6376 §3.6.1). */
export function dkimRecord(key: Pick<DkimKey, 'algorithm' | 'publicKey'>): string {
  return `v=DKIM1; k=${key.algorithm === 'rsa-sha256' ? 'rsa' : 'ed25519'}; p=${key.publicKey}`
}

/**
 * The records that make `domain` a sender here: DKIM (signature), MX and SPF of the return path (so that bounces come back
 * and the envelope sender is authorised), and the recommended DMARC policy (RFC 9989).
 */
export function expectedRecords(
  domain: { name: string; returnPath: string },
  keys: readonly Pick<DkimKey, 'selector' | 'algorithm' | 'publicKey'>[],
  host: SendingHost,
): ExpectedRecord[] {
  const zone = zoneOf(domain.name)
  const place = (label: string) => {
    const fqdn = `${label}.${domain.name}`
    return { fqdn, name: fqdn.endsWith(`.${zone}`) ? fqdn.slice(0, -zone.length - 1) : fqdn }
  }
  const dkim = keys.map((key, index): ExpectedRecord => ({
    key: index === 0 ? 'DKIM' : `DKIM ${key.selector}`,
    record: 'DKIM',
    type: 'TXT',
    ...place(`${key.selector}._domainkey`),
    value: dkimRecord(key),
    priority: null,
    required: true,
  }))
  const returnPath = place(domain.returnPath)
  return [
    ...dkim,
    {
      key: 'SPF MX',
      record: 'SPF',
      type: 'MX',
      ...returnPath,
      value: host.hostname,
      priority: 10,
      required: true,
    },
    {
      key: 'SPF',
      record: 'SPF',
      type: 'TXT',
      ...returnPath,
      value: spfPolicy(host),
      priority: null,
      required: true,
    },
    {
      key: 'DMARC',
      record: 'DMARC',
      type: 'TXT',
      ...place('_dmarc'),
      value: 'v=DMARC1; p=none;',
      priority: null,
      required: false,
    },
  ]
}
