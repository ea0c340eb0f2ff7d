import { Type, type Static } from 'typebox'
import { Id, kind, listOf, literals, Nullable, Timestamp } from './shared.ts'
import type { Erasure as StoredErasure, ErasureCounts as StoredErasureCounts } from '../storage/storage.ts'
import { timestamp, timestampOrNull } from './timestamp.ts'
import { operationsIn } from './operation.ts'
import { page, path, pathId, query } from './parameters.ts'

const count = (description: string) => Type.Integer({ description })

/** Numbers of changed or removed objects, by kind. */
export const ErasureCounts = Type.Object(
  {
    deliveries: count('Queued deliveries that failed because of the erasure.'),
    emails: count('Emails with the address.'),
    recipients: count('Recipients replaced by a pseudonym.'),
    bodies: count('Emails whose body was removed.'),
    bodies_later: count(
      'Emails whose body will be removed when all deliveries to other recipients are final.',
    ),
    events: count('Events.'),
    attempts: count('Transcripts of attempts.'),
    requests: count('Logged requests.'),
    webhook_deliveries: count('Webhook payloads.'),
    webhook_attempts: count('Webhook responses.'),
    receipts: count('Responses stored for idempotency keys.'),
    received_messages: count(
      'Removed messages: messages to return paths with the address or about an email to it, and messages to postmaster.',
    ),
    contacts: count('Contacts. Their opt-outs are kept as a hash.'),
    consents: count('Entries of the consent log, kept with a hash, without IP and user agent.'),
    import_rejects: count('Rejected rows of imports, removed.'),
    sent_events: count('Custom events about the address, removed. Runs of automations go with them.'),
    suppressions: count('Suppression list entries, kept as a hash.'),
  },
  { description: 'Number of changed or removed items, by kind.' },
)

/** POST /erasures, GET /erasures/:id, an element of GET /erasures. Not part of the hosted API. */
export const Erasure = Type.Object(
  {
    object: kind('erasure'),
    id: Nullable(Id, { description: 'Null for a dry run.' }),
    status: literals(['dry_run', 'running', 'done'], { description: 'running: the counts still grow.' }),
    address_hash: Nullable(Type.String(), {
      description: 'HMAC-SHA-256 of the address with a key of the server. The address itself is not stored.',
    }),
    actor: Nullable(Type.String(), { description: 'Who started it: a user, or the id of an API key.' }),
    created_at: Timestamp,
    finished_at: Nullable(Timestamp, { description: 'Null: not finished yet.' }),
    counts: ErasureCounts,
  },
  { description: 'The receipt of an erasure.' },
)
export type Erasure = Static<typeof Erasure>
export const ErasureList = listOf(Erasure, 'erasures')

/** POST /erasures */
export const CreateErasure = Type.Object(
  {
    address: Type.String({ description: 'The address to erase.', examples: ['ada@example.com'] }),
    dry_run: Type.Optional(Type.Boolean({ description: 'true: only count, without erasing.' })),
  },
  { description: 'The address to erase.' },
)

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
  params: path({ id: pathId }),
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
