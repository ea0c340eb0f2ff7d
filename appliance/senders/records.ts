import { getDomain } from 'tldts'
import { isIPv6 } from 'node:net'
import { buildDmarcValue, buildTlsRptValue, type ReportAddressFields } from '../mail/report-address.ts'
import { AUTO_IP } from '../mail/source.ts'
import type { Delegation, DkimKey } from '../storage/storage.ts'
import {
  getAliasTarget,
  getDelegatedName,
  isAliased,
  isWithin,
  overlapsServerNames,
  listSlots,
  type NameserverNames,
} from './aliases.ts'
import { getPolicyHost } from './mta-sts.ts'

/** A DNS record for the owner of a sending domain to publish, and how to show it. */
export interface ExpectedRecord {
  /**
   * Links the record to its check: `DKIM <selector>`, `SPF MX`, `SPF`, `DMARC`, `Receiving MX`, `TLS-RPT`,
   * `Tracking <name>`, `STS <name>`, `NS <name>`.
   */
  key: string
  /** The group in which the wire format lists it. */
  record: 'DKIM' | 'SPF' | 'DMARC' | 'Receiving' | 'TLS-RPT' | 'Tracking' | 'MTA-STS' | 'Delegation'
  type: 'TXT' | 'MX' | 'CNAME' | 'NS'
  /** Owner name relative to the registrable zone, as most DNS panels expect it. */
  name: string
  /** The full owner name, without the root dot. */
  fqdn: string
  value: string
  /** Preference of an MX record; null for other types. */
  priority: number | null
  /** False for a recommendation: the domain may send without this record. */
  required: boolean
  /** Why a record isn't required, as a keyword; null when it is required. */
  label: 'recommended' | 'optional' | 'next key' | 'old key' | null
  /** The purpose of the record if it isn't obvious; null otherwise. */
  advice: string | null
  /** Whether our DNS server publishes the record, so that the owner has nothing to do. */
  served: boolean
  /**
   * The value that the alias of a DKIM key must lead to; null if no key uses the alias now. Undefined for other
   * records.
   */
  behind?: string | null
}

/** How this host appears to receivers. */
export interface SendingHost {
  /** Target of the return-path MX records, in A-labels. */
  hostname: string
  /** Sending IPs, plus `auto` if the operating system also chooses; empty if only the operating system does. */
  sourceIps: readonly string[]
  /** The name of the web server, if different. */
  webHost?: string | undefined
  /** Names of our own DNS server; undefined if there is none. */
  nameserver?: NameserverNames | undefined
  /** Whether this host serves the MTA-STS policies of delegated subdomains. */
  policies?: boolean | undefined
}

/**
 * Returns the zone in which the records of `domain` are published: its registrable domain, by the public suffix list.
 */
export function getRegistrableDomain(domain: string): string {
  return getDomain(domain, { validateHostname: false }) ?? domain
}

/** Builds the SPF policy of the return path (RFC 7208 §4.5, §5.3, §5.6). */
function spfPolicy({ hostname, sourceIps }: SendingHost): string {
  const ours = sourceIps.map((ip) => {
    if (ip === AUTO_IP) return `a:${hostname}`
    return isIPv6(ip) ? `ip6:${ip}` : `ip4:${ip}`
  })
  return ['v=spf1', ...(ours.length > 0 ? ours : [`a:${hostname}`]), '~all'].join(' ')
}

/** Builds a DKIM key record (RFC 6376 §3.6.1). */
export function buildDkimRecord(key: Pick<DkimKey, 'algorithm' | 'publicKey'>): string {
  return `v=DKIM1; k=${key.algorithm === 'rsa-sha256' ? 'rsa' : 'ed25519'}; p=${key.publicKey}`
}

/** The fields of a key that `buildExpectedRecords` needs. */
export type KeyRecordFields = Pick<DkimKey, 'selector' | 'algorithm' | 'publicKey' | 'state' | 'retireAt'>

/** Returns the `key` of a DKIM key's record and check. */
export function getDkimCheckKey({ selector }: Pick<DkimKey, 'selector'>): string {
  return `DKIM ${selector}`
}

/** Returns the name at which a key is published (RFC 6376 §3.6.2.1). */
export function buildDkimName({ selector }: Pick<DkimKey, 'selector'>, domain: { name: string }): string {
  return `${selector}._domainkey.${domain.name}`
}

/** The fields of a record that don't depend on the domain. */
type Fixed = Omit<ExpectedRecord, 'name' | 'fqdn' | 'value' | 'served'>

/** The recommended policy (RFC 9989 §4). Any strictness is accepted. */
const DMARC: Fixed = {
  key: 'DMARC',
  record: 'DMARC',
  type: 'TXT',
  priority: null,
  required: false,
  label: 'recommended',
  advice:
    'Recommended: large mailbox providers expect a DMARC policy, however strict. The address in rua= receives daily reports about mail from the domain, shown under Reports. If you have a record, add the address to it.',
}

/** Asks other servers to report on TLS (RFC 8460 §3). Useful only where mail arrives. */
const TLS_RPT: Fixed = {
  key: 'TLS-RPT',
  record: 'TLS-RPT',
  type: 'TXT',
  priority: null,
  required: false,
  label: 'optional',
  advice:
    'Optional: servers that send mail to the domain report daily whether TLS worked, shown under Reports. If you have a record, add the address to it.',
}

/** Whether the hosted service doesn't have this record type; typed clients reject unknown types. */
export const isExtensionRecord = ({ record }: Pick<ExpectedRecord, 'record'>): boolean =>
  record === 'DMARC' || record === 'TLS-RPT' || record === 'MTA-STS' || record === 'Delegation'

/** The fields of a domain that its records depend on. */
export type DomainRecordFields = ReportAddressFields & {
  receiving?: boolean
  trackingSubdomain?: string | null
  delegation?: Delegation
}

/**
 * Returns the records that `domain` needs to send from here: DKIM, MX and SPF of the return path (so that bounces come
 * back and SPF passes), and the recommended DMARC policy (RFC 9989). Omits retired keys. Adds the MX and TLS-RPT
 * records of a receiving domain, and a CNAME to our web server when tracked links use the domain's own name.
 *
 * For a domain that delegates records, the keys are aliases, and the NS records of the subdomain come first.
 */
export function buildExpectedRecords(
  domain: DomainRecordFields,
  keys: readonly KeyRecordFields[],
  host: SendingHost,
): ExpectedRecord[] {
  const zone = getRegistrableDomain(domain.name)
  const place = (fqdn: string) => ({
    fqdn,
    name: fqdn.endsWith(`.${zone}`) ? fqdn.slice(0, -zone.length - 1) : fqdn,
  })
  const delegated = delegatedApex(domain, host)
  const isServed = (fqdn: string): boolean =>
    delegated !== undefined && isWithin(fqdn.toLowerCase(), delegated)
  const finish = (record: Omit<ExpectedRecord, 'name' | 'served'>): ExpectedRecord => ({
    ...record,
    ...place(record.fqdn),
    served: record.record !== 'Delegation' && isServed(record.fqdn),
  })
  const returnPath = `${domain.returnPath}.${domain.name}`
  return [
    ...(delegated === undefined ? [] : delegationRecords(delegated, host)),
    ...dkimRecords(domain, keys, host),
    ...spfRecords(returnPath, host),
    { ...DMARC, value: buildDmarcValue(domain), fqdn: `_dmarc.${domain.name}` },
    ...(domain.receiving === true
      ? [
          { ...receivingRecord(host), fqdn: domain.name },
          { ...TLS_RPT, value: buildTlsRptValue(domain), fqdn: `_smtp._tls.${domain.name}` },
        ]
      : []),
    ...trackingRecord(domain, host),
    ...(delegated === undefined ? [] : policyRecords(delegated, domain, host)),
  ].map(finish)
}

/** A record before its name is formatted for display. */
type Draft = Omit<ExpectedRecord, 'name' | 'served'>

/** Returns the subdomain that a domain delegates; undefined if it delegates none, or can't. */
function delegatedApex(domain: DomainRecordFields, host: SendingHost): string | undefined {
  if (domain.delegation !== 'ns' || !host.nameserver) return undefined
  const apex = getDelegatedName(domain)
  return overlapsServerNames(apex, host) ? undefined : apex
}

/** Returns the `key` of the record of the host that serves the MTA-STS policy of a delegated subdomain. */
export const getPolicyCheckKey = (apex: string): string => `STS ${getPolicyHost(apex)}`

/** Returns the record of the host that serves the MTA-STS policy. The CA uses it to validate the host. */
function policyRecords(
  apex: string,
  { name, trackingSubdomain }: DomainRecordFields,
  { hostname, webHost, policies }: SendingHost,
): Draft[] {
  const fqdn = getPolicyHost(apex)
  if (policies !== true || `${trackingSubdomain ?? ''}.${name}`.toLowerCase() === fqdn) return []
  return [
    {
      key: getPolicyCheckKey(apex),
      record: 'MTA-STS',
      type: 'CNAME',
      fqdn,
      value: webHost ?? hostname,
      priority: null,
      required: false,
      label: 'optional',
      advice: `Once Posthaste has a certificate for this name, it publishes an MTA-STS policy: other servers encrypt mail to ${apex}.`,
    },
  ]
}

const delegationRecords = (fqdn: string, { nameserver }: SendingHost): Draft[] =>
  nameserver!.names.map((name) => ({
    key: `NS ${name}`,
    record: 'Delegation',
    type: 'NS',
    fqdn,
    value: name,
    priority: null,
    // Not required, because the records of the return path are checked separately, no matter who publishes them.
    required: false,
    label: 'recommended',
    advice:
      'Delegates this subdomain to Posthaste, which publishes all records in it. Remove all other records of this name first.',
  }))

/** Returns the MX and SPF records of the return path. */
function spfRecords(fqdn: string, host: SendingHost): Draft[] {
  const shared = { record: 'SPF', fqdn, required: true, label: null, advice: null } as const
  return [
    { ...shared, key: 'SPF MX', type: 'MX', value: host.hostname, priority: 10 },
    { ...shared, key: 'SPF', type: 'TXT', value: spfPolicy(host), priority: null },
  ]
}

/** Returns the records of the keys: aliases if our DNS server publishes the keys, otherwise the keys themselves. */
function dkimRecords(
  domain: DomainRecordFields,
  keys: readonly KeyRecordFields[],
  { nameserver }: SendingHost,
): Draft[] {
  const current = keys.filter(({ state }) => state !== 'retired')
  const own = current
    .filter((key) => !nameserver || !isAliased(key))
    .map((key): Draft => ({
      ...dkimDraft(key, domain),
      type: 'TXT',
      value: buildDkimRecord(key),
      ...adviceOf(key),
    }))
  const aliases = nameserver ? aliasRecords(domain, current, nameserver.zone) : []
  return [...own, ...aliases].sort((a, b) => Number(b.required) - Number(a.required))
}

const dkimDraft = (
  key: Pick<KeyRecordFields, 'selector' | 'algorithm'> & { state?: string },
  domain: { name: string },
) => ({
  key: getDkimCheckKey(key),
  record: 'DKIM' as const,
  fqdn: buildDkimName(key, domain),
  priority: null,
  required: key.state === 'active' && key.algorithm === 'rsa-sha256',
})

/** Returns the aliases of a domain that delegates its keys, and the aliases that a key still needs. */
function aliasRecords(domain: DomainRecordFields, keys: readonly KeyRecordFields[], zone: string): Draft[] {
  return listSlots().flatMap(({ selector, algorithm }): Draft[] => {
    const key = keys.find((one) => one.selector === selector)
    if (!key && (domain.delegation ?? 'none') === 'none') return []
    return [
      {
        ...dkimDraft(key ?? { selector, algorithm }, domain),
        type: 'CNAME',
        value: getAliasTarget(selector, domain, zone),
        behind: key ? buildDkimRecord(key) : null,
        ...aliasAdvice(algorithm, key?.state),
      },
    ]
  })
}

function aliasAdvice(
  algorithm: KeyRecordFields['algorithm'],
  state: KeyRecordFields['state'] | undefined,
): Pick<ExpectedRecord, 'label' | 'advice'> {
  if (algorithm === 'ed25519-sha256')
    return { label: 'optional', advice: 'Optional: mail gets a second, shorter signature (RFC 8463).' }
  if (state === 'active')
    return { label: null, advice: 'Posthaste replaces the key behind this record from time to time.' }
  return {
    label: 'next key',
    advice: 'Needed when Posthaste replaces the key. Publish it now, and leave it unchanged.',
  }
}

/**
 * The MX record of a receiving domain. It must be the most preferred MX of the name, but the domain may send without
 * it.
 */
const receivingRecord = ({ hostname }: SendingHost): Omit<Draft, 'fqdn'> => ({
  key: 'Receiving MX',
  record: 'Receiving',
  type: 'MX',
  value: hostname,
  priority: 10,
  required: false,
  label: 'recommended',
  advice:
    'Mail for the domain comes to this server once this is its most preferred MX record. If people have mailboxes at the domain, receive at a subdomain instead.',
})

/**
 * Returns the `key` of the tracking record. It includes the name, because the check of one name says nothing about
 * another.
 */
export function getTrackingCheckKey(domain: { name: string; trackingSubdomain: string }): string {
  return `Tracking ${domain.trackingSubdomain}.${domain.name}`
}

function trackingRecord(
  { name, trackingSubdomain }: { name: string; trackingSubdomain?: string | null },
  { hostname, webHost }: SendingHost,
): Draft[] {
  if (trackingSubdomain === null || trackingSubdomain === undefined) return []
  return [
    {
      key: getTrackingCheckKey({ name, trackingSubdomain }),
      record: 'Tracking',
      type: 'CNAME',
      fqdn: `${trackingSubdomain}.${name}`,
      value: webHost ?? hostname,
      priority: null,
      required: false,
      label: 'optional',
      advice:
        "Tracked links use this name once the record is found in DNS, and this server's name until then. If this server is reached over HTTPS, it first needs a certificate for this name.",
    },
  ]
}

function adviceOf({ state, algorithm, retireAt }: KeyRecordFields): Pick<ExpectedRecord, 'label' | 'advice'> {
  if (state === 'retiring') {
    const until = retireAt === null ? '' : ` until ${new Date(retireAt).toISOString().slice(0, 10)}`
    const advice = `Keep this record${until}: receivers may still verify mail signed with it.`
    return { label: 'old key', advice }
  }
  if (algorithm === 'ed25519-sha256')
    return {
      label: 'optional',
      advice:
        state === 'pending'
          ? 'Optional: once this record is found in DNS, mail gets a second, shorter signature (RFC 8463).'
          : 'Optional: mail gets a second signature (RFC 8463) as long as this record is published.',
    }
  return state === 'pending'
    ? { label: 'next key', advice: 'The next key: Posthaste signs with it once this record is found in DNS.' }
    : { label: null, advice: null }
}
