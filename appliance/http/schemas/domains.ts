import { Type, type Static } from 'typebox'
import { Id, listOf, literals, Nullable, Timestamp } from './shared.ts'

const DomainStatus = literals([
  'not_started',
  'pending',
  'verified',
  'failed',
  'partially_verified',
  'partially_failed',
])

/** A DNS record to publish, with what was found. The fields from `fqdn` on are ours. */
export const DomainRecord = Type.Object({
  record: literals(['DKIM', 'SPF', 'DMARC'], {
    description: 'DMARC occurs in `recommended_records` only.',
  }),
  name: Type.String({ description: 'Relative to the zone, as most DNS panels want it.' }),
  type: literals(['TXT', 'MX']),
  ttl: Type.Literal('Auto'),
  status: literals(['not_started', 'pending', 'verified', 'failed', 'temporary_failure']),
  value: Type.String(),
  priority: Type.Optional(Type.Integer({ description: 'Preference; of MX records only.' })),
  fqdn: Type.String({ description: 'The whole name, without the root dot.' }),
  required: Type.Boolean({ description: 'False: the domain may send without it.' }),
  advice: Nullable(Type.String({ description: 'What the record is good for, where that is not plain.' })),
  found: Type.Array(Type.String(), { description: 'What is published there, as of the last check.' }),
  note: Nullable(Type.String({ description: 'What is wrong and what to do.' })),
  checked_at: Nullable(Timestamp),
  since: Nullable(Timestamp, { description: 'Since when `status` has been what it is.' }),
})
export type DomainRecord = Static<typeof DomainRecord>

/** A DKIM key of a domain. Ours. */
export const DkimKey = Type.Object({
  id: Id,
  selector: Type.String(),
  algorithm: literals(['rsa-sha256', 'ed25519-sha256']),
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
})
export type DkimKey = Static<typeof DkimKey>

const ability = literals(['enabled', 'disabled'])

const summary = {
  id: Id,
  name: Type.String(),
  status: DomainStatus,
  created_at: Timestamp,
  region: Type.String(),
  open_tracking: Type.Boolean(),
  click_tracking: Type.Boolean(),
  capabilities: Type.Object({ sending: ability, receiving: ability }),
}
export const DomainSummary = Type.Object(summary)
export type DomainSummary = Static<typeof DomainSummary>
export const DomainList = listOf(DomainSummary)
export type DomainList = Static<typeof DomainList>

/** GET /domains/:id, and what POST /domains answers. The fields from `tls` on are ours. */
export const Domain = Type.Object({
  object: Type.Literal('domain'),
  ...summary,
  tracking_subdomain: Type.Optional(Type.String()),
  records: Type.Array(DomainRecord),
  tls: literals(['opportunistic', 'enforced']),
  custom_return_path: Type.String(),
  recommended_records: Type.Array(DomainRecord),
  dkim_keys: Type.Array(DkimKey),
  status_since: Timestamp,
  failing_since: Nullable(Timestamp, {
    description:
      'A verified domain whose records looked wrong then for the first time; unless a second look finds them right, its status changes.',
  }),
  checked_at: Nullable(Timestamp),
  next_check_at: Nullable(Timestamp),
  gives_up_at: Nullable(Timestamp, { description: 'When a verification that does not succeed has failed.' }),
  notes: Type.Array(Type.String(), { description: 'What is set but has no effect yet.' }),
})
export type Domain = Static<typeof Domain>

const settings = {
  open_tracking: Type.Optional(Type.Boolean({ description: 'Stored; has no effect yet.' })),
  click_tracking: Type.Optional(Type.Boolean({ description: 'Stored; has no effect yet.' })),
  tls: Type.Optional(
    literals(['opportunistic', 'enforced'], { description: 'enforced: mail goes out encrypted or waits.' }),
  ),
  capabilities: Type.Optional(
    Type.Object({
      sending: Type.Optional(ability),
      receiving: Type.Optional(ability),
    }),
  ),
  tracking_subdomain: Type.Optional(Nullable(Type.String({ description: 'Stored; has no effect yet.' }))),
}

/** PATCH /domains/:id */
export const UpdateDomain = Type.Object(settings)
export type UpdateDomain = Static<typeof UpdateDomain>

/** POST /domains */
export const CreateDomain = Type.Object({
  name: Type.String({ examples: ['example.com'] }),
  region: Type.Optional(
    Type.String({ description: 'us-east-1, eu-west-1, sa-east-1 or ap-northeast-1; only echoed.' }),
  ),
  custom_return_path: Type.Optional(Type.String({ description: 'Label of the return path, `send`.' })),
  ...settings,
})
export type CreateDomain = Static<typeof CreateDomain>

/** POST /domains/:id/verify, PATCH /domains/:id */
export const DomainRef = Type.Object({ object: Type.Literal('domain'), id: Id })
/** DELETE /domains/:id */
export const DomainDeleted = Type.Object({
  object: Type.Literal('domain'),
  id: Id,
  deleted: Type.Literal(true),
})
/** POST /domains/:id/dkim/rotate: the keys that wait for their records. Ours. */
export const DkimRotation = Type.Object({
  object: Type.Literal('dkim_rotation'),
  domain_id: Id,
  dkim_keys: Type.Array(DkimKey),
})
export type DkimRotation = Static<typeof DkimRotation>
