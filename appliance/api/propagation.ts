import { Type, type Static } from 'typebox'
import { Id, kind, literals, Nullable, Timestamp } from './shared.ts'
import type { Propagation as StoredPropagation, RecordPropagation } from '../senders/senders.ts'
import { timestamp } from './timestamp.ts'
import { operationsIn } from './operation.ts'
import { path, pathId } from './parameters.ts'

const answered = ['pending', 'verified', 'failed', 'temporary_failure', 'not_started'] as const

/** A name server and its answer. */
const ServerAnswer = Type.Object(
  {
    host: Type.String({ description: 'Name of the name server.' }),
    status: literals([...answered], {
      description:
        'verified: it has the record · pending: no record · failed: a different record · temporary_failure: no response.',
    }),
    found: Type.Array(Type.String(), { description: 'The published values.' }),
    note: Nullable(Type.String(), { description: 'What is wrong; null: nothing.' }),
  },
  { description: 'A name server and its answer.' },
)

/** The current answers of all authoritative servers for a record. */
const RecordPropagation = Type.Object(
  {
    record: literals(['DKIM', 'SPF', 'DMARC', 'Receiving', 'TLS-RPT', 'Tracking', 'MTA-STS', 'Delegation'], {
      description: 'Purpose of the record.',
    }),
    type: literals(['TXT', 'MX', 'CNAME', 'NS'], { description: 'Record type.' }),
    name: Type.String({ description: 'Name relative to the zone, as most DNS panels expect.' }),
    fqdn: Type.String({ description: 'The full name, without the final dot.' }),
    value: Type.String({ description: 'The value to publish.' }),
    priority: Type.Optional(Type.Integer({ description: 'Preference; only for MX records.' })),
    required: Type.Boolean({ description: 'False: the domain can send without it.' }),
    zone: Nullable(Type.String(), {
      description: 'The zone whose name servers were queried; null: not found.',
    }),
    status: literals([...answered, 'partial'], {
      description: 'Combined result. partial: some servers have the record, others do not yet.',
    }),
    note: Nullable(Type.String(), { description: 'What is wrong and how to fix it; null: nothing.' }),
    servers: Type.Array(ServerAnswer, {
      description: 'Every authoritative server, in the order of the zone.',
    }),
  },
  { description: 'A record, as the authoritative servers of its zone return it now.' },
)

/** GET /domains/:id/propagation. Not part of the hosted API. */
export const Propagation = Type.Object(
  {
    object: kind('propagation'),
    domain_id: Id,
    checked_at: Timestamp,
    records: Type.Array(RecordPropagation, { description: 'In the order of the domain’s records.' }),
  },
  { description: "DNS propagation of a domain's records." },
)
export type Propagation = Static<typeof Propagation>

const operation = operationsIn('Domains')

export const getDomainPropagation = operation('GET /domains/:id/propagation', {
  summary: 'Check DNS propagation of a domain',
  description:
    'Queries every authoritative name server of the zone, without caches. Results are shared for four seconds. Not part of the hosted API.',
  params: path({ id: pathId }),
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
