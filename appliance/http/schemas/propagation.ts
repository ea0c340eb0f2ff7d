import { Type, type Static } from 'typebox'
import { Id, kind, literals, Nullable, Timestamp } from './shared.ts'

const answered = ['pending', 'verified', 'failed', 'temporary_failure', 'not_started'] as const

/** One name server and its answer. */
const ServerAnswer = Type.Object(
  {
    host: Type.String({ description: 'The name of the name server.' }),
    status: literals([...answered], {
      description:
        'verified: it has the record · pending: it has none · failed: it has another · temporary_failure: it gave no answer.',
    }),
    found: Type.Array(Type.String(), { description: 'What it publishes there.' }),
    note: Nullable(Type.String(), { description: 'What is wrong; null: nothing.' }),
  },
  { description: 'A name server and its answer.' },
)

/** One record as every authoritative server of its zone answers now. */
const RecordPropagation = Type.Object(
  {
    record: literals(['DKIM', 'SPF', 'DMARC', 'Tracking'], { description: 'What it is for.' }),
    type: literals(['TXT', 'MX', 'CNAME'], { description: 'The type of the record.' }),
    name: Type.String({ description: 'Relative to the zone, as most DNS panels want it.' }),
    fqdn: Type.String({ description: 'The whole name, without the root dot.' }),
    value: Type.String({ description: 'The text to publish.' }),
    priority: Type.Optional(Type.Integer({ description: 'Preference; of MX records only.' })),
    required: Type.Boolean({ description: 'False: the domain may send without it.' }),
    zone: Nullable(Type.String(), {
      description: 'The zone whose servers were asked; null: none could be found.',
    }),
    status: literals([...answered, 'partial'], {
      description: 'What the answers come to. partial: some servers have it, others not yet.',
    }),
    note: Nullable(Type.String(), { description: 'What is wrong and what to do; null: nothing.' }),
    servers: Type.Array(ServerAnswer, {
      description: 'Every authoritative server, in the order of the zone.',
    }),
  },
  { description: 'A record as the authoritative servers of its zone answer now.' },
)

/** GET /domains/:id/propagation. Ours. */
export const Propagation = Type.Object(
  {
    object: kind('propagation'),
    domain_id: Id,
    checked_at: Timestamp,
    records: Type.Array(RecordPropagation, { description: 'In the order of the domain’s records.' }),
  },
  { description: 'How far the records of a domain have come.' },
)
export type Propagation = Static<typeof Propagation>
