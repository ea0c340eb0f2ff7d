/** What our DNS server publishes for sending domains. Pure. */
import { tlsRptValue } from '../mail/report-address.ts'
import type { Domain, ServedDomain } from '../storage/storage.ts'
import { ALIASED, aliasTarget, delegatedName, overlaps, slots } from './aliases.ts'
import { policyRecord } from './mta-sts.ts'
import { dkimRecord, expectedRecords, type RecordedKey, type SendingHost } from './records.ts'

/** A record to serve. */
export type ServedRecord =
  | { name: string; type: 'TXT' | 'CNAME'; value: string }
  | { name: string; type: 'MX'; value: string; priority: number }

/** Our own zone, or a delegated subdomain of a sending domain. */
export interface ServedZone {
  apex: string
  records: ServedRecord[]
}

/**
 * Returns the records of our own zone: a key for each alias. Without a key, the record says that there is none (RFC 6376
 * §3.6.1), so that a resolver remembers no missing name when a key comes.
 */
function servedKeys(served: readonly ServedDomain[], zone: string): ServedRecord[] {
  return served.flatMap(({ domain, keys }) =>
    slots().map(({ selector, algorithm }): ServedRecord => {
      const key = keys.find((one) => one.selector === selector) ?? { algorithm, publicKey: '' }
      return { name: aliasTarget(selector, domain, zone), type: 'TXT', value: dkimRecord(key) }
    }),
  )
}

/** The records that depend on the address of the server stay right in a delegated subdomain: it has no others. */
function servedZones(served: readonly ServedDomain[], host: SendingHost, policyOf: PolicyOf): ServedZone[] {
  const zones = new Map<string, ServedZone & { holds: boolean }>()
  for (const { domain, keys, holds } of served) {
    const apex = delegatedName(domain)
    if (domain.delegation !== 'ns' || overlaps(apex, host)) continue
    // Several teams may add a name before one of them verifies it. The one that has wins, then the first.
    if (zones.has(apex) && (zones.get(apex)!.holds || !holds)) continue
    const policy = host.policies === true ? policyOf(apex) : null
    const sts = policy === null ? [] : [policyRecord(apex, policy)]
    zones.set(apex, { apex, holds, records: [...recordsBelow(apex, domain, keys, host), ...sts] })
  }
  return [...zones.values()].map(({ apex, records }) => ({ apex, records }))
}

function recordsBelow(
  apex: string,
  domain: Domain,
  keys: readonly RecordedKey[],
  host: SendingHost,
): ServedRecord[] {
  const records = expectedRecords(domain, keys, host)
    .filter(({ served }) => served)
    .flatMap(({ type, fqdn: name, value, priority }): ServedRecord[] => {
      if (type === 'MX') return [{ name, type, value, priority: priority ?? 10 }]
      return type === 'NS' ? [] : [{ name, type, value }]
    })
  const tls = { name: `_smtp._tls.${apex}`, type: 'TXT' as const, value: tlsRptValue(domain) }
  return [...records, tls]
}

/** Returns the MTA-STS policy to publish for a subdomain; null for none. */
type PolicyOf = (apex: string) => string | null

/** Returns how to find the domains that our DNS server has records of, and the zones with them: our own one first. */
export function publishedRecords(host: SendingHost, policyOf: PolicyOf = () => null) {
  const zone = host.nameserver!.zone
  return {
    selectors: ALIASED,
    zonesOf: (served: readonly ServedDomain[]): ServedZone[] => [
      { apex: zone, records: servedKeys(served, zone) },
      ...servedZones(served, host, policyOf),
    ],
  }
}
