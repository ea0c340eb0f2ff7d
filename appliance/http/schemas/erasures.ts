import { Type, type Static } from 'typebox'
import { Id, kind, listOf, literals, Nullable, Timestamp } from './shared.ts'

const count = (description: string) => Type.Integer({ description })

/** What was changed or removed, by kind. */
export const ErasureCounts = Type.Object(
  {
    deliveries: count('Deliveries that waited and were given up.'),
    emails: count('Emails that named the address.'),
    recipients: count('Recipients that have a pseudonym now.'),
    bodies: count('Emails whose body is gone.'),
    bodies_later: count('Emails whose body goes when the last delivery to somebody else is final.'),
    events: count('Events.'),
    attempts: count('Transcripts of attempts.'),
    requests: count('Requests in the log.'),
    webhook_deliveries: count('Payloads that webhooks were sent.'),
    webhook_attempts: count('Answers of endpoints.'),
    receipts: count('Answers that were kept for repeated requests.'),
    received_messages: count(
      'Messages to return paths that named the address or were about an email to it, and messages to postmaster; they are removed.',
    ),
    suppressions: count('Entries of the suppression list, which go on under a hash.'),
  },
  { description: 'What was changed or removed, by kind.' },
)

/** POST /erasures, GET /erasures/:id, an element of GET /erasures. Ours. */
export const Erasure = Type.Object(
  {
    object: kind('erasure'),
    id: Nullable(Id, { description: 'Null for a dry run.' }),
    status: literals(['dry_run', 'running', 'done'], { description: 'running: the counts grow.' }),
    address_hash: Nullable(Type.String(), {
      description:
        'HMAC-SHA-256 of the address with a key of the server; the address itself is kept nowhere.',
    }),
    actor: Nullable(Type.String(), { description: 'Who asked for it: a person, or the id of a key.' }),
    created_at: Timestamp,
    finished_at: Nullable(Timestamp, { description: 'Null: not yet.' }),
    counts: ErasureCounts,
  },
  { description: "The receipt of erasing a person's data." },
)
export type Erasure = Static<typeof Erasure>
export const ErasureList = listOf(Erasure, 'erasures')

/** POST /erasures */
export const CreateErasure = Type.Object(
  {
    address: Type.String({ description: 'Whose data goes.', examples: ['ada@example.com'] }),
    dry_run: Type.Optional(Type.Boolean({ description: 'true: only count.' })),
  },
  { description: 'Whose data is to be erased.' },
)
