import { Type, type Static } from 'typebox'
import { boolean, integer, kind, literals, Nullable, object, string } from './schemas.ts'
import { Id, listOf, Timestamp } from './shared.ts'
import type { Erasure as StoredErasure, ErasureCounts as StoredErasureCounts } from '../storage/storage.ts'
import { timestamp, timestampOrNull } from './timestamp.ts'
import { operationsIn } from './operation.ts'
import { byId, page, query } from './parameters.ts'

/** Numbers of changed or removed objects, by kind. */
export const ErasureCounts = object('Number of changed or removed items, by kind.', {
  deliveries: integer('Queued deliveries that failed because of the erasure.'),
  emails: integer('Emails with the address.'),
  recipients: integer('Recipients replaced by a pseudonym.'),
  bodies: integer('Emails whose body was removed.'),
  bodies_later: integer(
    'Emails whose body will be removed when all deliveries to other recipients are final.',
  ),
  events: integer('Events.'),
  attempts: integer('Transcripts of attempts.'),
  requests: integer('Logged requests.'),
  webhook_deliveries: integer('Webhook payloads.'),
  webhook_attempts: integer('Webhook responses.'),
  receipts: integer('Responses stored for idempotency keys.'),
  received_messages: integer(
    'Removed messages: messages to return paths with the address or about an email to it, and messages to postmaster.',
  ),
  contacts: integer('Contacts. Their opt-outs are kept as a hash.'),
  consents: integer('Entries of the consent log, kept with a hash, without IP and user agent.'),
  import_rejects: integer('Rejected rows of imports, removed.'),
  sent_events: integer('Custom events about the address, removed. Runs of automations go with them.'),
  suppressions: integer('Suppression list entries, kept as a hash.'),
})

/** POST /erasures, GET /erasures/:id, an element of GET /erasures. Not part of the hosted API. */
export const Erasure = object('The receipt of an erasure.', {
  object: kind('erasure'),
  id: Nullable(Id, 'Null for a dry run.'),
  status: literals(['dry_run', 'running', 'done'], 'running: the counts still grow.'),
  address_hash: Nullable(
    Type.String(),
    'HMAC-SHA-256 of the address with a key of the server. The address itself is not stored.',
  ),
  actor: Nullable(Type.String(), 'Who started it: a user, or the id of an API key.'),
  created_at: Timestamp,
  finished_at: Nullable(Timestamp, 'Null: not finished yet.'),
  counts: ErasureCounts,
})
export type Erasure = Static<typeof Erasure>
export const ErasureList = listOf(Erasure, 'erasures')

export const CreateErasure = object('The address to erase.', {
  address: string('The address to erase.', { examples: ['ada@example.com'] }),
  dry_run: Type.Optional(boolean('true: only count, without erasing.')),
})

const operation = operationsIn('Erasures')

export const createErasure = operation('POST /erasures', {
  summary: 'Erase the data of an address',
  description:
    'Runs in the background and continues after a restart; `GET /erasures/:id` returns the progress. With `dry_run`, changes nothing: the response has no id and counts what would be erased. Cannot be undone. Not part of the hosted API.',
  body: CreateErasure,
  response: { 200: Erasure },
})
export const listErasures = operation('GET /erasures', {
  summary: 'List erasures',
  description: 'Newest first. Each entry is the receipt of an erasure.',
  querystring: query(page),
  response: { 200: ErasureList },
})
export const getErasure = operation('GET /erasures/:id', {
  summary: 'Get an erasure',
  params: byId,
  response: { 200: Erasure },
})

/** Formats the response of GET /erasures/:id, an element of the list, and the command's JSON. */
export function presentErasure({ id, hash, actor, createdAt, finishedAt, counts }: StoredErasure): Erasure {
  return {
    object: 'erasure',
    id,
    status: finishedAt === null ? 'running' : 'done',
    address_hash: hash,
    actor,
    created_at: timestamp(createdAt),
    finished_at: timestampOrNull(finishedAt),
    counts,
  }
}

/** Formats the effect that an erasure would have. @param at when it was counted, in Unix milliseconds */
export function presentErasurePreview(counts: StoredErasureCounts, at: number): Erasure {
  const never = { id: null, address_hash: null, actor: null, finished_at: null }
  return { object: 'erasure', status: 'dry_run', ...never, created_at: timestamp(at), counts }
}
