import type { Erasure } from '../../../appliance/api/erasures.ts'

const WORDS: Record<keyof Erasure['counts'], readonly [one: string, many: string]> = {
  deliveries: ['queued delivery stopped', 'queued deliveries stopped'],
  emails: ['email', 'emails'],
  recipients: ['recipient', 'recipients'],
  bodies: ['body', 'bodies'],
  bodies_later: ['body to be deleted later', 'bodies to be deleted later'],
  events: ['event', 'events'],
  attempts: ['transcript', 'transcripts'],
  requests: ['request', 'requests'],
  webhook_deliveries: ['webhook payload', 'webhook payloads'],
  webhook_attempts: ['webhook response', 'webhook responses'],
  receipts: ['idempotency receipt', 'idempotency receipts'],
  import_rejects: ['rejected row of an import', 'rejected rows of imports'],
  sent_events: ['custom event', 'custom events'],
  received_messages: ['received message', 'received messages'],
  contacts: ['contact', 'contacts'],
  consents: ['consent log entry', 'consent log entries'],
  suppressions: ['suppression', 'suppressions'],
}

/** Describes what an erasure deletes, such as `2 emails`, `1 body`. Omits zero counts. Pure. */
export const describeErasure = (counts: Erasure['counts']): string[] =>
  Object.entries(counts).flatMap(([name, count]) => {
    const [one, several] = WORDS[name as keyof Erasure['counts']]
    return count === 0 ? [] : [`${count.toLocaleString('en')} ${count === 1 ? one : several}`]
  })
