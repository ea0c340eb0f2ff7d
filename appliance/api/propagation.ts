import { Type, type Static } from 'typebox'
import { array, boolean, integer, kind, literals, Nullable, object, string } from './schemas.ts'
import { Id, Timestamp } from './shared.ts'
import type { Propagation as StoredPropagation, RecordPropagation } from '../senders/senders.ts'
import { timestamp } from './timestamp.ts'
import { operationsIn } from './operation.ts'
import { byId } from './parameters.ts'

const answered = ['pending', 'verified', 'failed', 'temporary_failure', 'not_started'] as const

/** A name server and its answer. */
const ServerAnswer = object('A name server and its answer.', {
  host: string('Name of the name server.'),
  status: literals(
    [...answered],
    'verified: it has the record · pending: no record · failed: a different record · temporary_failure: no response.',
  ),
  found: array(Type.String(), 'The published values.'),
  note: Nullable(Type.String(), 'What is wrong; null: nothing.'),
})

/** The current answers of all authoritative servers for a record. */
const RecordPropagation = object('A record, as the authoritative servers of its zone return it now.', {
  record: literals(
    ['DKIM', 'SPF', 'DMARC', 'Receiving', 'TLS-RPT', 'Tracking', 'MTA-STS', 'Delegation'],
    'Purpose of the record.',
  ),
  type: literals(['TXT', 'MX', 'CNAME', 'NS'], 'Record type.'),
  name: string('Name relative to the zone, as most DNS panels expect.'),
  fqdn: string('The full name, without the final dot.'),
  value: string('The value to publish.'),
  priority: Type.Optional(integer('Preference; only for MX records.')),
  required: boolean('False: the domain can send without it.'),
  zone: Nullable(Type.String(), 'The zone whose name servers were queried; null: not found.'),
  status: literals(
    [...answered, 'partial'],
    'Combined result. partial: some servers have the record, others do not yet.',
  ),
  note: Nullable(Type.String(), 'What is wrong and how to fix it; null: nothing.'),
  servers: array(ServerAnswer, 'Every authoritative server, in the order of the zone.'),
})

/** GET /domains/:id/propagation. Not part of the hosted API. */
export const Propagation = object("DNS propagation of a domain's records.", {
  object: kind('propagation'),
  domain_id: Id,
  checked_at: Timestamp,
  records: array(RecordPropagation, 'In the order of the domain’s records.'),
})
export type Propagation = Static<typeof Propagation>

const operation = operationsIn('Domains')

export const getDomainPropagation = operation('GET /domains/:id/propagation', {
  summary: 'Check DNS propagation of a domain',
  description:
    'Queries every authoritative name server of the zone, without caches. Results are shared for four seconds. Not part of the hosted API.',
  params: byId,
  response: { 200: Propagation },
})

/** Formats the response of GET /domains/:id/propagation. */
export function presentPropagation(domainId: string, { at, records }: StoredPropagation): Propagation {
  return {
    object: 'propagation',
    domain_id: domainId,
    checked_at: timestamp(at),
    records: records.map(presentRecord),
  }
}

function presentRecord({
  expected,
  zone,
  status,
  note,
  servers,
}: RecordPropagation): Propagation['records'][number] {
  return {
    record: expected.record,
    type: expected.type,
    name: expected.name,
    fqdn: expected.fqdn,
    value: expected.value,
    ...(expected.priority === null ? {} : { priority: expected.priority }),
    required: expected.required,
    zone,
    status,
    note,
    servers: servers.map((one) => ({
      host: one.host,
      status: one.status,
      found: [...one.found],
      note: one.note,
    })),
  }
}
