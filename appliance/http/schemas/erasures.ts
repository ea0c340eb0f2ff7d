import { Type, type Static } from 'typebox'
import { Id, kind, listOf, literals, Nullable, Timestamp } from '../../api/shared.ts'

const count = (description: string) => Type.Integer({ description })

/** What was changed or removed, by kind. */
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
    suppressions: count('Suppression list entries, kept as a hash.'),
  },
  { description: 'Number of changed or removed items, by kind.' },
)

/** POST /erasures, GET /erasures/:id, an element of GET /erasures. Ours. */
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
