/** How sending domains and their DKIM keys look outside. */
import type * as schema from '../http/schemas/domains.ts'
import { lightsOf } from '../senders/advised.ts'
import { dkimName, dkimRecord, type ExpectedRecord } from '../senders/records.ts'
import type { WaysOut } from '../senders/reverse-dns.ts'
import type { DkimKey, Domain } from '../storage/storage.ts'
import { timestamp, timestampOrNull } from '../api/timestamp.ts'

const ability = (enabled: boolean) => (enabled ? 'enabled' : 'disabled')

/** A domain as the audit log keeps it. */
export function presentDomainSummary(domain: Domain): schema.DomainSummary {
  return {
    id: domain.id,
    name: domain.name,
    status: domain.status,
    created_at: timestamp(domain.createdAt),
    region: domain.region,
    open_tracking: domain.openTracking,
    click_tracking: domain.clickTracking,
    capabilities: { sending: ability(domain.sending), receiving: ability(domain.receiving) },
  }
}

/** An element of GET /domains. */
export const presentListedDomain = (domain: Domain, ways: WaysOut): schema.ListedDomain => ({
  ...presentDomainSummary(domain),
  lights: lightsOf(domain, ways),
})

/**
 * GET /domains/:id. `records` and `keys` come from `senders.expectedRecords` and `senders.dkimKeys`, `ways` from the
 * book of the sources; what was found comes with the domain. DMARC is listed apart: the hosted service has no such record, and typed clients fail on a kind that
 * they do not know.
 */
export function presentDomain(
  domain: Domain,
  records: readonly ExpectedRecord[],
  keys: readonly Omit<DkimKey, 'privateKey'>[],
  ways: WaysOut,
): schema.Domain {
  const present = (record: ExpectedRecord) => presentRecord(domain, record)
  return {
    object: 'domain',
    ...presentDomainSummary(domain),
    ...(domain.trackingSubdomain === null ? {} : { tracking_subdomain: domain.trackingSubdomain }),
    records: records.filter(({ record }) => record !== 'DMARC').map(present),
    tls: domain.tls,
    custom_return_path: domain.returnPath,
    recommended_records: records.filter(({ record }) => record === 'DMARC').map(present),
    dkim_keys: keys.map((key) => presentDkimKey(domain, key)),
    status_since: timestamp(domain.statusSince),
    failing_since: timestampOrNull(domain.suspect?.since ?? null),
    checked_at: timestampOrNull(domain.checkedAt),
    next_check_at: timestampOrNull(domain.nextCheckAt),
    gives_up_at: timestampOrNull(domain.verifyUntil),
    notes: notesOf(domain),
    lights: lightsOf(domain, ways),
  }
}

function presentRecord({ checks }: Domain, record: ExpectedRecord): schema.DomainRecord {
  const check = checks.find(({ key }) => key === record.key)
  return {
    record: record.record,
    name: record.name,
    type: record.type,
    ttl: 'Auto',
    status: check?.status ?? 'not_started',
    value: record.value,
    ...(record.priority === null ? {} : { priority: record.priority }),
    fqdn: record.fqdn,
    required: record.required,
    advice: record.advice,
    found: check?.found ?? [],
    note: check?.note ?? null,
    checked_at: timestampOrNull(check?.checkedAt ?? null),
    since: timestampOrNull(check?.since ?? null),
  }
}

const keyNotes: Record<DkimKey['state'], string> = {
  pending: 'Publish its record. Posthaste signs with this key once the record is found in DNS.',
  active: 'Posthaste signs with this key. Keep its record.',
  retiring: 'Receivers may still verify mail signed with this key. Keep its record for now.',
  retired: 'No mail signed with this key is in transit any more. Its record can be removed.',
}

/** A DKIM key with its record; its private half is never shown. */
export function presentDkimKey(
  domain: Pick<Domain, 'name'>,
  key: Omit<DkimKey, 'privateKey'>,
): schema.DkimKey {
  return {
    id: key.id,
    selector: key.selector,
    algorithm: key.algorithm,
    state: key.state,
    state_since: timestamp(key.stateSince),
    retires_at: timestampOrNull(key.retireAt),
    created_at: timestamp(key.createdAt),
    fqdn: dkimName(key, domain),
    value: dkimRecord(key),
    note: keyNotes[key.state],
  }
}

/** What a domain is set to and this version does not do: nothing that was asked for is passed over in silence. */
function notesOf({ receiving }: Domain): string[] {
  return receiving
    ? [
        'Receiving is stored but has no effect yet. This server does not receive mail for the domain, so no record is required.',
      ]
    : []
}
