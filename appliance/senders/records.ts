import { getDomain } from 'tldts'
import { isIPv6 } from 'node:net'
import { dmarcValue, type AddressedDomain } from '../mail/report-address.ts'
import { AUTO } from '../mail/source.ts'
import type { DkimKey } from '../storage/storage.ts'

/** One DNS record that the owner of a sending domain publishes, and how it is shown. */
export interface ExpectedRecord {
  /** Ties the record to its check: `DKIM <selector>`, `SPF MX`, `SPF`, `DMARC`, `Receiving MX`, `Tracking <name>`. */
  key: string
  /** The heading under which the wire format lists it. */
  record: 'DKIM' | 'SPF' | 'DMARC' | 'Receiving' | 'Tracking'
  type: 'TXT' | 'MX' | 'CNAME'
  /** Owner name relative to the registrable zone, as most DNS panels want it. */
  name: string
  /** The whole owner name, without the root dot. */
  fqdn: string
  value: string
  /** Preference of an MX record; null for the others. */
  priority: number | null
  /** False for advice: the domain may send without it. */
  required: boolean
  /** One of a few words for a record that is not required; null for those that are. */
  label: 'recommended' | 'optional' | 'next key' | 'old key' | null
  /** What the record is good for, where that is not plain; null otherwise. */
  advice: string | null
}

/** What this host is to receivers of its mail. */
export interface SendingHost {
  /** Target of the return-path MX records, A-labels. */
  hostname: string
  /** Addresses that mail leaves from, `auto` where the system chooses beside them; empty when it alone does. */
  sourceIps: readonly string[]
  /** The name at which its web server is reached, where that is another one. */
  webHost?: string | undefined
}

/** The zone in which the records of `domain` are published: its registrable domain, by the public suffix list. */
export function zoneOf(domain: string): string {
  return getDomain(domain, { validateHostname: false }) ?? domain
}

/** The SPF policy of the return path (RFC 7208 §4.5, §5.3, §5.6). */
function spfPolicy({ hostname, sourceIps }: SendingHost): string {
  const ours = sourceIps.map((ip) => {
    if (ip === AUTO) return `a:${hostname}`
    return isIPv6(ip) ? `ip6:${ip}` : `ip4:${ip}`
  })
  return ['v=spf1', ...(ours.length > 0 ? ours : [`a:${hostname}`]), '~all'].join(' ')
}

/** The DKIM key record (RFC 6376 §3.6.1). */
export function dkimRecord(key: Pick<DkimKey, 'algorithm' | 'publicKey'>): string {
  return `v=DKIM1; k=${key.algorithm === 'rsa-sha256' ? 'rsa' : 'ed25519'}; p=${key.publicKey}`
}

/** What `expectedRecords` needs of a key. */
export type RecordedKey = Pick<DkimKey, 'selector' | 'algorithm' | 'publicKey' | 'state' | 'retireAt'>

/** The `key` of a DKIM key's record and check. */
export function dkimKeyOf({ selector }: Pick<DkimKey, 'selector'>): string {
  return `DKIM ${selector}`
}

/** Where the key is published (RFC 6376 §3.6.2.1). */
export function dkimName({ selector }: Pick<DkimKey, 'selector'>, domain: { name: string }): string {
  return `${selector}._domainkey.${domain.name}`
}

/** The recommended policy (RFC 9989 §4): any strictness will do. */
const DMARC: Omit<ExpectedRecord, 'name' | 'fqdn' | 'value'> = {
  key: 'DMARC',
  record: 'DMARC',
  type: 'TXT',
  priority: null,
  required: false,
  label: 'recommended',
  advice:
    'Recommended: large mailbox providers expect a DMARC policy, however strict. The address in rua= receives daily reports about mail from the domain, shown under Reports. If you have a record, add the address to it.',
}

/**
 * The records that make `domain` a sender here: DKIM (signature), MX and SPF of the return path (so that bounces come back
 * and the envelope sender is authorised), and the recommended DMARC policy (RFC 9989). Records of retired keys are not
 * among them. Where the domain wants its tracked links under a name of its own, a CNAME leads from there to our web server.
 */
export function expectedRecords(
  domain: AddressedDomain & { receiving?: boolean; trackingSubdomain?: string | null },
  keys: readonly RecordedKey[],
  host: SendingHost,
): ExpectedRecord[] {
  const zone = zoneOf(domain.name)
  const place = (fqdn: string) => ({
    fqdn,
    name: fqdn.endsWith(`.${zone}`) ? fqdn.slice(0, -zone.length - 1) : fqdn,
  })
  const dkim = keys
    .filter(({ state }) => state !== 'retired')
    .map((key): ExpectedRecord => ({
      key: dkimKeyOf(key),
      record: 'DKIM',
      type: 'TXT',
      ...place(dkimName(key, domain)),
      value: dkimRecord(key),
      priority: null,
      required: key.state === 'active' && key.algorithm === 'rsa-sha256',
      ...adviceOf(key),
    }))
    .sort((a, b) => Number(b.required) - Number(a.required))
  const returnPath = place(`${domain.returnPath}.${domain.name}`)
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
      label: null,
      advice: null,
    },
    {
      key: 'SPF',
      record: 'SPF',
      type: 'TXT',
      ...returnPath,
      value: spfPolicy(host),
      priority: null,
      required: true,
      label: null,
      advice: null,
    },
    { ...DMARC, value: dmarcValue(domain), ...place(`_dmarc.${domain.name}`) },
    ...(domain.receiving === true ? [{ ...receivingRecord(host), ...place(domain.name) }] : []),
    ...trackingRecord(domain, host).map((record) => ({ ...record, ...place(record.fqdn) })),
  ]
}

/** It has to be the most preferred MX of the name. The domain may send without it. */
const receivingRecord = ({ hostname }: SendingHost): Omit<ExpectedRecord, 'name' | 'fqdn'> => ({
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

/** The `key` of the record under which tracked links live: with the name, as what was seen of another says nothing. */
export function trackingKeyOf(domain: { name: string; trackingSubdomain: string }): string {
  return `Tracking ${domain.trackingSubdomain}.${domain.name}`
}

function trackingRecord(
  { name, trackingSubdomain }: { name: string; trackingSubdomain?: string | null },
  { hostname, webHost }: SendingHost,
): Omit<ExpectedRecord, 'name'>[] {
  if (trackingSubdomain === null || trackingSubdomain === undefined) return []
  return [
    {
      key: trackingKeyOf({ name, trackingSubdomain }),
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

function adviceOf({ state, algorithm, retireAt }: RecordedKey): Pick<ExpectedRecord, 'label' | 'advice'> {
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
