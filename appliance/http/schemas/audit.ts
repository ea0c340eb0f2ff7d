import { Type, type Static } from 'typebox'
import { ACTOR_KINDS } from '../../mail/audit.ts'
import { Id, kind, listOf, literals, Nullable, Timestamp } from './shared.ts'

/** GET /audit/:id, and an element of the list; ours. */
export const AuditEntry = Type.Object(
  {
    object: kind('audit_entry'),
    id: Id,
    team_id: Nullable(Id, { description: 'Whose things it was about; null: those of the whole server.' }),
    at: Timestamp,
    actor: Type.String({ description: 'The person, the id of the key, or the account at the command line.' }),
    actor_kind: literals(ACTOR_KINDS, { description: 'What acted.' }),
    actor_name: Nullable(Type.String(), {
      description: 'The name of the API key at that time; null: `actor` says who it was.',
    }),
    ip: Nullable(Type.String(), { description: 'Where the request came from; null: none did.' }),
    action: Type.String({ description: 'Noun and verb.', examples: ['queue.hold'] }),
    target: Type.String({ description: 'What it was about: a noun, with an id where there is one.' }),
    target_name: Nullable(Type.String(), {
      description: 'The name of the target at that time, also after it was deleted; null: unknown.',
    }),
    sentence: Type.String({
      description: 'The entry in one English sentence, for people. Its wording may change.',
      examples: ['ada@acme.com rotated DKIM for acme.com'],
    }),
    before: Type.Unknown({ description: 'How it was before; null: there is nothing to say.' }),
    after: Type.Unknown({
      description: 'What came of it; null: it is not known whether it came to its end.',
    }),
    outcome: literals(['done', 'refused', 'unknown'], {
      description: 'Whether it was done. `unknown`: it is under way, or was cut off.',
    }),
    details: Type.Record(Type.String(), Type.Unknown(), { description: 'What was asked for.' }),
  },
  { description: 'Something that somebody did.' },
)
export type AuditEntry = Static<typeof AuditEntry>
export const AuditList = listOf(AuditEntry, 'what was done')
