/** How the propagation of a domain's records looks outside. */
import type * as schema from '../http/schemas/propagation.ts'
import type { Propagation, RecordPropagation } from '../senders/senders.ts'
import { timestamp } from '../api/timestamp.ts'

/** GET /domains/:id/propagation. */
export function presentPropagation(domainId: string, { at, records }: Propagation): schema.Propagation {
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
}: RecordPropagation): schema.Propagation['records'][number] {
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
