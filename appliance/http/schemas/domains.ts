import { Type, type Static } from 'typebox'
import { Deleted, Id, kind, listOf, literals, Nullable, Timestamp } from './shared.ts'

const DomainStatus = literals(
  ['not_started', 'pending', 'verified', 'failed', 'partially_verified', 'partially_failed'],
  { description: 'What the checks of its records came to. Mail is taken from `verified` domains.' },
)

/** A DNS record to publish, with what was found. The fields from `fqdn` on are ours. */
export const DomainRecord = Type.Object(
  {
    record: literals(['DKIM', 'SPF', 'DMARC', 'Tracking'], {
      description: 'DMARC occurs in `recommended_records` only.',
    }),
    name: Type.String({ description: 'Relative to the zone, as most DNS panels want it.' }),
    type: literals(['TXT', 'MX', 'CNAME'], { description: 'The type of the record.' }),
    ttl: Type.Literal('Auto', {
      description: 'How long resolvers may keep it: what the DNS panel proposes.',
    }),
    status: literals(['not_started', 'pending', 'verified', 'failed', 'temporary_failure'], {
      description: 'What the last check found. temporary_failure: the DNS could not be asked.',
    }),
    value: Type.String({ description: 'The text to publish.' }),
    priority: Type.Optional(Type.Integer({ description: 'Preference; of MX records only.' })),
    fqdn: Type.String({ description: 'The whole name, without the root dot.' }),
    required: Type.Boolean({ description: 'False: the domain may send without it.' }),
    advice: Nullable(Type.String(), { description: 'What the record is good for, where that is not plain.' }),
    found: Type.Array(Type.String(), { description: 'What is published there, as of the last check.' }),
    note: Nullable(Type.String(), { description: 'What is wrong and what to do; null: nothing.' }),
    checked_at: Nullable(Timestamp, { description: 'When it was last looked for; null: not yet.' }),
    since: Nullable(Timestamp, { description: 'Since when `status` has been what it is.' }),
  },
  { description: 'A DNS record to publish, with what was found.' },
)
export type DomainRecord = Static<typeof DomainRecord>

/** A DKIM key of a domain. Ours. */
export const DkimKey = Type.Object(
  {
    id: Id,
    selector: Type.String({ description: 'Its selector: the first label of its record.' }),
    algorithm: literals(['rsa-sha256', 'ed25519-sha256'], { description: 'How it signs.' }),
    state: literals(['pending', 'active', 'retiring', 'retired'], {
      description:
        'pending: waits for its record · active: signs · retiring: signs no more, but its record is still needed · retired: its record may be removed.',
    }),
    state_since: Timestamp,
    retires_at: Nullable(Timestamp, { description: 'Until when the record of a retiring key is needed.' }),
    created_at: Timestamp,
    fqdn: Type.String({ description: 'Where its record belongs.' }),
    value: Type.String({ description: 'The record.' }),
    note: Type.String({ description: 'What the state means for its record.' }),
  },
  { description: 'A DKIM key of a domain.' },
)
export type DkimKey = Static<typeof DkimKey>

const ability = (what: string) => literals(['enabled', 'disabled'], { description: what })
const OF_SENDING = 'Whether mail may be sent from it.'
const OF_RECEIVING = 'Whether mail to it is taken. Stored; has no effect yet.'
const sending = ability(OF_SENDING)
const receiving = ability(OF_RECEIVING)

const summary = {
  id: Id,
  name: Type.String({ description: 'The domain.' }),
  status: DomainStatus,
  created_at: Timestamp,
  region: Type.String({ description: 'What was said when it was added; it has no effect.' }),
  open_tracking: Type.Boolean({ description: 'Whether html gets a pixel that tells of opens.' }),
  click_tracking: Type.Boolean({ description: 'Whether links in html lead through this server.' }),
  capabilities: Type.Object({ sending, receiving }, { description: 'What the domain is used for.' }),
}
const lights = Type.Array(
  Type.Object(
    {
      name: literals(['SPF', 'DKIM', 'DMARC', 'MTA-STS', 'TLS-RPT', 'BIMI', 'PTR'], {
        description: 'What the records are of. PTR: of the addresses that its mail leaves from.',
      }),
      status: literals(['not_started', 'pending', 'verified', 'failed', 'temporary_failure', 'warning'], {
        description:
          'What the last check found. pending: there is none · failed: it is wrong, or a PTR is missing · warning: a PTR record leads back, and mail may suffer all the same.',
      }),
      note: Nullable(Type.String(), {
        description: 'What is wrong and what to do, where no record of the domain says it.',
        examples: ['192.0.2.1 has no PTR record. Large providers refuse mail from such addresses.'],
      }),
    },
    { description: 'The state of one kind of records.' },
  ),
  {
    description:
      'Its records at a glance. DKIM is verified with one key in place; MTA-STS, TLS-RPT and BIMI are only looked for, never asked for; PTR is the worst of the addresses that its mail leaves from, as they were last looked at.',
  },
)

export const DomainSummary = Type.Object(summary, { description: 'A domain, without its records.' })
export type DomainSummary = Static<typeof DomainSummary>
/** An element of GET /domains. The last field is ours. */
export const ListedDomain = Type.Object(
  { ...summary, lights },
  { description: 'A domain, with its records at a glance.' },
)
export type ListedDomain = Static<typeof ListedDomain>
export const DomainList = listOf(ListedDomain, 'domains')
export type DomainList = Static<typeof DomainList>

/** GET /domains/:id, and what POST /domains answers. The fields from `tls` on are ours. */
export const Domain = Type.Object(
  {
    object: kind('domain'),
    ...summary,
    tracking_subdomain: Type.Optional(
      Type.String({
        description:
          'A label below the domain, such as links: tracked links lead through this name once its CNAME record is verified.',
      }),
    ),
    records: Type.Array(DomainRecord, { description: 'The records that it needs.' }),
    tls: literals(['opportunistic', 'enforced'], {
      description: 'enforced: mail goes out encrypted or waits · opportunistic: encrypted where it can be.',
    }),
    custom_return_path: Type.String({ description: 'The label of its return path.' }),
    recommended_records: Type.Array(DomainRecord, { description: 'Records that it may send without.' }),
    dkim_keys: Type.Array(DkimKey, { description: 'The keys that sign its mail, now, before and next.' }),
    status_since: Timestamp,
    failing_since: Nullable(Timestamp, {
      description:
        'A verified domain whose records looked wrong then for the first time; unless a second look finds them right, its status changes.',
    }),
    checked_at: Nullable(Timestamp, { description: 'When its records were last looked for; null: not yet.' }),
    next_check_at: Nullable(Timestamp, {
      description: 'When they are looked for again; null: when asked to.',
    }),
    gives_up_at: Nullable(Timestamp, {
      description: 'When a verification that does not succeed has failed.',
    }),
    notes: Type.Array(Type.String(), { description: 'What is set but has no effect yet.' }),
    lights,
  },
  { description: 'A domain with the records that it needs.' },
)
export type Domain = Static<typeof Domain>

const settings = {
  open_tracking: Type.Optional(
    Nullable(Type.Boolean(), {
      description: 'Whether html gets a pixel that tells of opens. Default: false.',
    }),
  ),
  click_tracking: Type.Optional(
    Nullable(Type.Boolean(), {
      description: 'Whether links in html lead through this server. Default: false.',
    }),
  ),
  tls: Type.Optional(
    Nullable(literals(['opportunistic', 'enforced']), {
      description: 'enforced: mail goes out encrypted or waits.',
    }),
  ),
  capabilities: Type.Optional(
    Nullable(
      Type.Object({
        sending: Type.Optional(Nullable(sending, { description: OF_SENDING })),
        receiving: Type.Optional(Nullable(receiving, { description: OF_RECEIVING })),
      }),
      { description: 'What the domain is used for.' },
    ),
  ),
  tracking_subdomain: Type.Optional(
    Nullable(Type.String(), {
      description:
        'A label below the domain, such as links: tracked links lead through this name once its CNAME record is verified.',
    }),
  ),
}

/** PATCH /domains/:id */
export const UpdateDomain = Type.Object(settings, { description: 'The settings to change; others stay.' })
export type UpdateDomain = Static<typeof UpdateDomain>

/** POST /domains */
export const CreateDomain = Type.Object(
  {
    name: Type.String({ description: 'The domain to send from.', examples: ['example.com'] }),
    region: Type.Optional(
      Nullable(Type.String(), {
        description: 'us-east-1, eu-west-1, sa-east-1 or ap-northeast-1; only echoed.',
      }),
    ),
    custom_return_path: Type.Optional(
      Nullable(Type.String(), { description: 'Label of the return path, `send`.' }),
    ),
    ...settings,
  },
  { description: 'A domain to send from.' },
)
export type CreateDomain = Static<typeof CreateDomain>

/** POST /domains/:id/verify, PATCH /domains/:id */
export const DomainRef = Type.Object({ object: kind('domain'), id: Id }, { description: 'The domain.' })
/** DELETE /domains/:id */
export const DomainDeleted = Type.Object(
  { object: kind('domain'), id: Id, deleted: Deleted },
  { description: 'The domain that was removed.' },
)
/** POST /domains/:id/dkim/rotate: the keys that wait for their records. Ours. */
export const DkimRotation = Type.Object(
  {
    object: kind('dkim_rotation'),
    domain_id: Id,
    dkim_keys: Type.Array(DkimKey, { description: 'The keys that wait for their records.' }),
  },
  { description: 'The keys that were made.' },
)
export type DkimRotation = Static<typeof DkimRotation>
