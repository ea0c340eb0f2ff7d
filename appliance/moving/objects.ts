/**
 * Parses the hosted service's objects as far as they can be moved (reference: wire format §2). Missing values become
 * null. Pure.
 */
import { getRegistrableDomain } from '../senders/records.ts'
import type { DomainSettings } from '../storage/storage.ts'
import type { HostedObject } from './hosted.ts'

/** A DNS record that the hosted service requires. */
export interface HostedRecord {
  /** The group in which the record is listed: SPF, DKIM, … */
  record: string
  type: string
  /** The full owner name in lower case, without the root dot. */
  fqdn: string
  value: string
}

export interface HostedDomain {
  id: string
  name: string
  region: string | null
  /** Label of the return path, from its own field or from the records. */
  returnPath: string | null
  settings: Partial<DomainSettings>
  records: HostedRecord[]
}

/** Returns null for anything that isn't a string. */
export const stringOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null)

const flag = (value: unknown): boolean | undefined => (typeof value === 'boolean' ? value : undefined)

/** Parses GET /domains/:id. */
export function parseHostedDomain(wire: HostedObject, name: string): HostedDomain {
  const records = (Array.isArray(wire.records) ? (wire.records as unknown[]) : []).flatMap((one) =>
    typeof one === 'object' && one !== null ? recordsIn(one as HostedObject, name) : [],
  )
  return {
    id: stringOrNull(wire.id) ?? '',
    name,
    region: stringOrNull(wire.region),
    returnPath: stringOrNull(wire.custom_return_path) ?? returnPathIn(records, name),
    settings: settingsOf(wire),
    records,
  }
}

function recordsIn(wire: HostedObject, domain: string): HostedRecord[] {
  const [type, name, value] = [stringOrNull(wire.type), stringOrNull(wire.name), stringOrNull(wire.value)]
  if (type === null || name === null || value === null) return []
  const fqdn = stringOrNull(wire.fqdn) ?? wholeName(name, domain)
  return [{ record: stringOrNull(wire.record) ?? '', type, fqdn: fqdn.toLowerCase(), value }]
}

/** Completes a name that is relative to the registrable domain. */
function wholeName(name: string, domain: string): string {
  const zone = getRegistrableDomain(domain)
  const bare = name.replace(/\.$/, '').toLowerCase()
  if (bare === '' || bare === '@') return zone
  return bare === zone || bare.endsWith(`.${zone}`) ? bare : `${bare}.${zone}`
}

/** Finds the label of the return path. */
function returnPathIn(records: readonly HostedRecord[], domain: string): string | null {
  const mx = records.find(({ record, type }) => record === 'SPF' && type === 'MX')
  const end = `.${domain.toLowerCase()}`
  return mx?.fqdn.endsWith(end) ? mx.fqdn.slice(0, -end.length) : null
}

function settingsOf(wire: HostedObject): Partial<DomainSettings> {
  const abilities = (wire.capabilities ?? {}) as HostedObject
  const enabled = (value: unknown) => (value === 'enabled' ? true : value === 'disabled' ? false : undefined)
  const given = {
    tls: wire.tls === 'enforced' || wire.tls === 'opportunistic' ? wire.tls : undefined,
    sending: enabled(abilities.sending),
    receiving: enabled(abilities.receiving),
    openTracking: flag(wire.open_tracking),
    clickTracking: flag(wire.click_tracking),
    trackingSubdomain:
      wire.tracking_subdomain === '' ? undefined : (stringOrNull(wire.tracking_subdomain) ?? undefined),
  }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

/** Returns the selectors of the domain's DKIM keys. */
export function listSelectors({ name, records }: HostedDomain): string[] {
  const end = `._domainkey.${name.toLowerCase()}`
  return records.flatMap(({ fqdn }) => (fqdn.endsWith(end) ? [fqdn.slice(0, -end.length)] : []))
}

/** Converts a time in either format of the API to ISO 8601; undefined when invalid. */
export function toIso(value: unknown): string | undefined {
  const given = stringOrNull(value)
    ?.replace(' ', 'T')
    .replace(/([+-]\d\d)$/, '$1:00')
  const at = given === undefined ? NaN : Date.parse(given)
  return Number.isNaN(at) ? undefined : new Date(at).toISOString()
}
