/** What our DNS server publishes for sending domains. Pure. */
import { buildTlsRptValue } from '../mail/report-address.ts'
import type { Domain, ServedDomain } from '../storage/storage.ts'
import {
  ALIASED_SELECTORS,
  getAliasTarget,
  getDelegatedName,
  overlapsServerNames,
  listSlots,
} from './aliases.ts'
import { buildPolicyRecord } from './mta-sts.ts'
import { buildDkimRecord, buildExpectedRecords, type KeyRecordFields, type SendingHost } from './records.ts'

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
 * Returns the records of our own zone: a key for each alias. An alias without a key gets an empty key (RFC 6376
 * §3.6.1), so that resolvers don't cache that the name is missing before a key is added.
 */
function servedKeys(served: readonly ServedDomain[], zone: string): ServedRecord[] {
  return served.flatMap(({ domain, keys }) =>
    listSlots().map(({ selector, algorithm }): ServedRecord => {
      const key = keys.find((one) => one.selector === selector) ?? { algorithm, publicKey: '' }
      return { name: getAliasTarget(selector, domain, zone), type: 'TXT', value: buildDkimRecord(key) }
    }),
  )
}

/**
 * Returns the delegated subdomains with all their records. Records that contain the server's address stay correct when
 * it changes.
 */
function servedZones(served: readonly ServedDomain[], host: SendingHost, policyOf: PolicyOf): ServedZone[] {
  const zones = new Map<string, ServedZone & { holds: boolean }>()
  for (const { domain, keys, holds } of served) {
    const apex = getDelegatedName(domain)
    if (domain.delegation !== 'ns' || overlapsServerNames(apex, host)) continue
    // Several teams may add a name before one of them verifies it. The team that verified it takes precedence,
    // otherwise the first.
    if (zones.has(apex) && (zones.get(apex)!.holds || !holds)) continue
    const policy = host.policies === true ? policyOf(apex) : null
    const sts = policy === null ? [] : [buildPolicyRecord(apex, policy)]
    zones.set(apex, { apex, holds, records: [...recordsBelow(apex, domain, keys, host), ...sts] })
  }
  return [...zones.values()].map(({ apex, records }) => ({ apex, records }))
}

function recordsBelow(
  apex: string,
  domain: Domain,
  keys: readonly KeyRecordFields[],
  host: SendingHost,
): ServedRecord[] {
  const records = buildExpectedRecords(domain, keys, host)
    .filter(({ served }) => served)
    .flatMap(({ type, fqdn: name, value, priority }): ServedRecord[] => {
      if (type === 'MX') return [{ name, type, value, priority: priority ?? 10 }]
      return type === 'NS' ? [] : [{ name, type, value }]
    })
  const tls = { name: `_smtp._tls.${apex}`, type: 'TXT' as const, value: buildTlsRptValue(domain) }
  return [...records, tls]
}

/** Returns the MTA-STS policy to publish for a subdomain; null if there is none. */
type PolicyOf = (apex: string) => string | null

/**
 * Returns the selectors by which to find the domains whose records our DNS server publishes, and a function that builds
 * the zones with those records, our own zone first.
 */
export function createZoneBuilder(host: SendingHost, policyOf: PolicyOf = () => null) {
  const zone = host.nameserver!.zone
  return {
    selectors: ALIASED_SELECTORS,
    zonesOf: (served: readonly ServedDomain[]): ServedZone[] => [
      { apex: zone, records: servedKeys(served, zone) },
      ...servedZones(served, host, policyOf),
    ],
  }
}
