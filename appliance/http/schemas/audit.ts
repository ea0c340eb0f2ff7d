import { Type, type Static } from 'typebox'
import { ACTOR_KINDS } from '../../mail/audit.ts'
import { Id, kind, listOf, literals, Nullable, Timestamp } from '../../api/shared.ts'

/** GET /audit/:id, and an element of the list; ours. */
export const AuditEntry = Type.Object(
  {
    object: kind('audit_entry'),
    id: Id,
    team_id: Nullable(Id, { description: 'The team that the action concerned; null: the whole server.' }),
    at: Timestamp,
    actor: Type.String({
      description: 'The user, the id of the API key, or the account on the command line.',
    }),
    actor_kind: literals(ACTOR_KINDS, { description: 'Kind of actor.' }),
    actor_name: Nullable(Type.String(), {
      description: 'Name of the API key at that time; null: see `actor`.',
    }),
    ip: Nullable(Type.String(), { description: 'IP address of the request; null: not a request.' }),
    action: Type.String({ description: 'Noun and verb.', examples: ['queue.hold'] }),
    target: Type.String({ description: 'What it concerned: a noun, with an id if there is one.' }),
    target_name: Nullable(Type.String(), {
      description: 'Name of the target at that time, kept after deletion; null: unknown.',
    }),
    sentence: Type.String({
      description: 'The entry as one English sentence. The wording may change.',
      examples: ['ada@acme.com rotated DKIM for acme.com'],
    }),
    before: Type.Unknown({ description: 'State before the action; null: not applicable.' }),
    after: Type.Unknown({
      description: 'Result; null: unknown whether the action finished.',
    }),
    outcome: literals(['done', 'refused', 'unknown'], {
      description: 'Whether the action succeeded. `unknown`: in progress, or interrupted.',
    }),
    details: Type.Record(Type.String(), Type.Unknown(), { description: "The request's parameters." }),
  },
  { description: 'An action in the audit log.' },
)
export type AuditEntry = Static<typeof AuditEntry>
export const AuditList = listOf(AuditEntry, 'audit log entries')
