import { Type, type Static } from 'typebox'
import {
  array,
  boolean,
  integer,
  kind,
  literals,
  Nullable,
  object,
  optionalOrNull,
  optionalText,
  string,
} from './schemas.ts'
import { Deleted, Id, listOf, Timestamp } from './shared.ts'
import { computeStatusLights } from '../senders/recommended.ts'
import { maySend } from '../senders/senders.ts'
import { isExtensionRecord, type ExpectedRecord } from '../senders/records.ts'
import type { SourcesAndPools } from '../senders/reverse-dns.ts'
import type { DkimKey as StoredDkimKey, Domain as StoredDomain } from '../storage/storage.ts'
import { timestamp, timestampOrNull } from './timestamp.ts'
import { DkimKey, presentDkimKey } from './dkim-keys.ts'
import { operationsIn } from './operation.ts'
import { byId, query, shortPage } from './parameters.ts'

const DomainStatus = literals(
  ['not_started', 'pending', 'verified', 'failed', 'partially_verified', 'partially_failed'],
  'Result of checking its records. Only `verified` domains can send.',
)

/** A DNS record to publish, with its state. The hosted API lacks the fields from `fqdn` on. */
export const DomainRecord = object('A DNS record to publish, and what was found.', {
  record: literals(
    ['DKIM', 'SPF', 'DMARC', 'Receiving', 'TLS-RPT', 'Tracking', 'MTA-STS', 'Delegation'],
    'DMARC, TLS-RPT, MTA-STS and Delegation appear only in `recommended_records`.',
  ),
  name: string('Name relative to the zone, as most DNS panels expect.'),
  type: literals(['TXT', 'MX', 'CNAME', 'NS'], 'Record type.'),
  ttl: Type.Literal('Auto', {
    description: 'TTL: how long resolvers may cache it, as suggested by the DNS panel.',
  }),
  status: literals(
    ['not_started', 'pending', 'verified', 'failed', 'temporary_failure'],
    'Result of the last check. temporary_failure: the DNS lookup failed.',
  ),
  value: string('The value to publish.'),
  priority: Type.Optional(integer('Preference; only for MX records.')),
  fqdn: string('The full name, without the final dot.'),
  required: boolean('False: the domain can send without it.'),
  advice: Nullable(Type.String(), 'Purpose of the record, if not obvious.'),
  served: boolean("True: the server's own DNS server publishes it, so there is nothing to do."),
  found: array(Type.String(), 'Values found in DNS at the last check.'),
  note: Nullable(Type.String(), 'What is wrong and how to fix it; null: nothing.'),
  checked_at: Nullable(Timestamp, 'Time of the last check; null: not checked yet.'),
  since: Nullable(Timestamp, 'Time of the last change of `status`.'),
})
export type DomainRecord = Static<typeof DomainRecord>

const ability = (what: string) => literals(['enabled', 'disabled'], what)
const OF_SENDING = 'Whether the domain can send.'
const OF_RECEIVING = 'Whether the domain receives mail, at any address (docs/receiving.md).'
const sending = ability(OF_SENDING)
const receiving = ability(OF_RECEIVING)

const summary = {
  id: Id,
  name: string('The domain.'),
  status: DomainStatus,
  created_at: Timestamp,
  region: string('The region that its mail is sent from, if a pool is in it.'),
  open_tracking: boolean('Whether open tracking adds a pixel to HTML.'),
  click_tracking: boolean('Whether click tracking rewrites links in HTML.'),
  capabilities: object('What the domain is used for.', { sending, receiving }),
}
const lights = array(
  object('The status of one kind of records.', {
    name: literals(
      ['SPF', 'DKIM', 'DMARC', 'MTA-STS', 'TLS-RPT', 'BIMI', 'PTR'],
      "Kind of records. PTR: of the domain's sending IPs.",
    ),
    status: literals(
      ['not_started', 'pending', 'verified', 'failed', 'temporary_failure', 'warning'],
      'Result of the last check. pending: no record · failed: wrong, or a PTR record is missing · warning: the PTR record matches, but mail may still be affected.',
    ),
    note: Nullable(Type.String(), {
      description: 'What is wrong and how to fix it, if no record of the domain says so.',
      examples: ['192.0.2.1 has no PTR record. Large providers refuse mail from such addresses.'],
    }),
  }),
  "Summary of its records. DKIM is verified when one key is published. MTA-STS, TLS-RPT and BIMI are never required. PTR is the worst status of the domain's sending IPs at their last check.",
)

const DELEGATION =
  "Who publishes the records. none: you · cname: the server's own DNS server has the DKIM keys, and you publish CNAME records once · ns: it also has all records of the return path, which you delegate with an NS record."
const delegation = literals(['none', 'cname', 'ns'], DELEGATION)

export const DomainSummary = object('A domain, without its records.', summary)
export type DomainSummary = Static<typeof DomainSummary>
/** An element of GET /domains. The hosted API lacks the last field. */
export const ListedDomain = object('A domain, with a summary of its records.', { ...summary, lights })
export type ListedDomain = Static<typeof ListedDomain>
export const DomainList = listOf(ListedDomain, 'domains')
export type DomainList = Static<typeof DomainList>

/** GET /domains/:id, and the response to POST /domains. The hosted API lacks the fields from `tls` on. */
export const Domain = object('A domain and its records.', {
  object: kind('domain'),
  ...summary,
  tracking_subdomain: Type.Optional(
    string(
      'A label below the domain, such as links. Tracked links use this name once its CNAME record is verified.',
    ),
  ),
  records: array(DomainRecord, 'The records to publish.'),
  tls: literals(
    ['opportunistic', 'enforced'],
    'enforced: mail is sent only over TLS · opportunistic: over TLS if the server supports it.',
  ),
  custom_return_path: string('The label of its return path.'),
  recommended_records: array(DomainRecord, 'Records that the hosted API does not have: most are optional.'),
  delegation,
  delegation_zone: Nullable(
    Type.String(),
    "The zone that this server's DNS server answers for; null if that server is off.",
  ),
  dkim_keys: array(DkimKey, 'Its DKIM keys: current, previous and next.'),
  status_since: Timestamp,
  failing_since: Nullable(
    Timestamp,
    'When the records of a verified domain first looked wrong. Its status changes unless the next check finds them correct.',
  ),
  checked_at: Nullable(Timestamp, 'Time of the last check of its records; null: not checked yet.'),
  next_check_at: Nullable(Timestamp, 'Time of the next check; null: only on request.'),
  gives_up_at: Nullable(Timestamp, 'When a verification that has not succeeded fails.'),
  notes: array(Type.String(), 'Settings that have no effect yet, and why.'),
  lights,
})
export type Domain = Static<typeof Domain>

const settings = {
  open_tracking: optionalOrNull(
    Type.Boolean(),
    'Whether open tracking adds a pixel to HTML. Default: false.',
  ),
  click_tracking: optionalOrNull(
    Type.Boolean(),
    'Whether click tracking rewrites links in HTML. Default: false.',
  ),
  tls: optionalOrNull(literals(['opportunistic', 'enforced']), 'enforced: mail is sent only over TLS.'),
  capabilities: optionalOrNull(
    Type.Object({
      sending: optionalOrNull(sending, OF_SENDING),
      receiving: optionalOrNull(receiving, OF_RECEIVING),
    }),
    'What the domain is used for.',
  ),
  tracking_subdomain: optionalText(
    'A label below the domain, such as links. Tracked links use this name once its CNAME record is verified.',
  ),
  delegation: optionalOrNull(delegation, DELEGATION),
}

export const UpdateDomain = object('The settings to change. Others stay the same.', settings)
export type UpdateDomain = Static<typeof UpdateDomain>

export const CreateDomain = object('A domain to send from.', {
  name: string('The domain to send from.', { examples: ['example.com'] }),
  region: optionalText(
    'us-east-1, eu-west-1, sa-east-1, ap-northeast-1, or the region of a pool. The mail of the domain is sent from a pool in this region, if there is one. Default: us-east-1.',
  ),
  custom_return_path: optionalText('Label of the return path. Default: `send`.'),
  ...settings,
})
export type CreateDomain = Static<typeof CreateDomain>

export const DomainRef = object('The domain.', { object: kind('domain'), id: Id })
export const DomainDeleted = object('The removed domain.', {
  object: kind('domain'),
  id: Id,
  deleted: Deleted,
})
const operation = operationsIn('Domains')

export const createDomain = operation('POST /domains', {
  summary: 'Add a domain',
  description: 'Returns the DNS records to publish. The domain can send once they are found.',
  body: CreateDomain,
  response: { 201: Domain },
})
export const listDomains = operation('GET /domains', {
  summary: 'List domains',
  querystring: query(shortPage),
  response: { 200: DomainList },
})
export const getDomain = operation('GET /domains/:id', {
  summary: 'Get a domain with its DNS records',
  params: byId,
  response: { 200: Domain },
})
export const updateDomain = operation('PATCH /domains/:id', {
  summary: 'Change a domain',
  params: byId,
  body: UpdateDomain,
  response: { 200: DomainRef },
})
export const deleteDomain = operation('DELETE /domains/:id', {
  summary: 'Remove a domain',
  description: 'Also removes its DKIM keys, and the API keys restricted to it.',
  params: byId,
  response: { 200: DomainDeleted },
})
export const verifyDomain = operation('POST /domains/:id/verify', {
  summary: 'Verify a domain',
  description:
    'Checks its DNS records in the background for up to 72 hours. To read the results, use `GET /domains/:id`.',
  params: byId,
  response: { 200: DomainRef },
})
const shown = (enabled: boolean) => (enabled ? 'enabled' : 'disabled')

/** Formats a domain for the audit log. */
export function presentDomainSummary(domain: StoredDomain): DomainSummary {
  return {
    id: domain.id,
    name: domain.name,
    status: domain.status,
    created_at: timestamp(domain.createdAt),
    region: domain.region,
    open_tracking: domain.openTracking,
    click_tracking: domain.clickTracking,
    capabilities: { sending: shown(domain.sending), receiving: shown(domain.receiving) },
  }
}

/** Formats an element of GET /domains. */
export const presentListedDomain = (domain: StoredDomain, ways: SourcesAndPools): ListedDomain => ({
  ...presentDomainSummary(domain),
  lights: computeStatusLights(domain, ways),
})

/**
 * Formats the response of GET /domains/:id. `records` and `keys` come from `senders.buildExpectedRecords` and
 * `senders.dkimKeys`, `ways` from the sending IPs,
 * `delegationZone` from `senders.delegationZone`; the state of the records is part of the domain. DMARC and
 * TLS-RPT are in a separate field: the hosted service has no such records, and typed clients reject unknown types.
 */
export function presentDomain(
  domain: StoredDomain,
  records: readonly ExpectedRecord[],
  keys: readonly Omit<StoredDkimKey, 'privateKey'>[],
  ways: SourcesAndPools,
  delegationZone: string | null,
): Domain {
  const present = (record: ExpectedRecord) => presentRecord(domain, record)
  return {
    object: 'domain',
    ...presentDomainSummary(domain),
    ...(domain.trackingSubdomain === null ? {} : { tracking_subdomain: domain.trackingSubdomain }),
    records: records.filter((record) => !isExtensionRecord(record)).map(present),
    tls: domain.tls,
    custom_return_path: domain.returnPath,
    recommended_records: records.filter(isExtensionRecord).map(present),
    delegation: domain.delegation,
    delegation_zone: delegationZone,
    dkim_keys: keys.map((key) => presentDkimKey(domain, key)),
    status_since: timestamp(domain.statusSince),
    failing_since: timestampOrNull(domain.suspect?.since ?? null),
    checked_at: timestampOrNull(domain.checkedAt),
    next_check_at: timestampOrNull(domain.nextCheckAt),
    gives_up_at: timestampOrNull(domain.verifyUntil),
    notes: notesOf(domain),
    lights: computeStatusLights(domain, ways),
  }
}

function presentRecord({ checks }: StoredDomain, record: ExpectedRecord): DomainRecord {
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
    served: record.served,
    found: check?.found ?? [],
    note: check?.note ?? null,
    checked_at: timestampOrNull(check?.checkedAt ?? null),
    since: timestampOrNull(check?.since ?? null),
  }
}

/** Explains why a setting isn't in effect yet, so that no request is silently ignored. */
function notesOf({ receiving, status }: StoredDomain): string[] {
  return receiving && !maySend(status) ? ['The domain receives mail once it is verified.'] : []
}
