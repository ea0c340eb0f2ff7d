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

/** A DNS record to publish, with what was found. The last three fields are ours. */
export const DomainRecord = Type.Object({
  record: literals(['DKIM', 'SPF', 'DMARC']),
  /** Relative to the zone, as the hosted service writes it. */
  name: Type.String(),
  type: literals(['TXT', 'MX']),
  ttl: Type.Literal('Auto'),
  status: literals(['not_started', 'pending', 'verified', 'failed', 'temporary_failure']),
  value: Type.String(),
  priority: Type.Optional(Type.Integer()),
  /** The whole name, without the root dot. */
  fqdn: Type.String(),
  found: Type.Array(Type.String(), { description: 'What is published there, as of the last check.' }),
  note: Nullable(Type.String({ description: 'What is wrong and what to do.' })),
})
export type DomainRecord = Static<typeof DomainRecord>

const summary = {
  id: Id,
  name: Type.String(),
  status: DomainStatus,
  created_at: Timestamp,
  region: Type.String(),
  open_tracking: Type.Boolean(),
  click_tracking: Type.Boolean(),
  capabilities: Type.Object({
    sending: literals(['enabled', 'disabled']),
    receiving: literals(['enabled', 'disabled']),
  }),
}
export const DomainSummary = Type.Object(summary)
export type DomainSummary = Static<typeof DomainSummary>
export const DomainList = listOf(DomainSummary)
export type DomainList = Static<typeof DomainList>

/** GET /domains/:id */
export const Domain = Type.Object({
  object: Type.Literal('domain'),
  ...summary,
  records: Type.Array(DomainRecord),
  checked_at: Nullable(Timestamp),
})
export type Domain = Static<typeof Domain>

/** POST /domains/:id/verify */
export const DomainRef = Type.Object({ object: Type.Literal('domain'), id: Id })
