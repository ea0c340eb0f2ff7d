/** Who did what, in the words of the audit log. */

/** user: a person in the dashboard · api_key: an app · command: a person at the command line · system: the appliance itself */
export const ACTOR_KINDS = ['user', 'api_key', 'command', 'system'] as const
export type ActorKind = (typeof ACTOR_KINDS)[number]

/** Who acts. */
export interface Actor {
  kind: ActorKind
  /** The person's address, the id of the key, or the account of the operating system. */
  name: string
  /** Where the request came from; null where none did. */
  ip: string | null
}

/** One administrative act. */
export interface AuditEntry {
  id: string
  /** Whose things it was about; null: the whole appliance's. */
  teamId: string | null
  /** Unix milliseconds. */
  at: number
  actor: string
  actorKind: ActorKind
  ip: string | null
  /** Noun and verb: `queue.hold`. */
  action: string
  /** What it was about: `queue`, or a noun and an id. */
  target: string
  /** How it was before, and what came of it; plain data. `after` is null until the act has come to its end. */
  before: unknown
  after: unknown
  /** What was asked for. */
  details: Record<string, unknown>
}
