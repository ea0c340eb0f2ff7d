/**
 * The tables, as both engines have them: instants are integer milliseconds (`bigint` in PostgreSQL), JSON is text,
 * flags are 0 or 1, bytes are `blob` or `bytea`. The definitions themselves are in `migrations/`.
 *
 * Every table carries `team_id`, except `teams` (its own id), `users` (a person may be a member of several teams) and
 * `migrations`.
 */
import type { Generated } from 'kysely'
import type { EmailEventType, LastEvent } from '../mail/event.ts'
import type { DeliveryState } from '../mail/verdict.ts'
import type { DkimKey, DomainStatus, NewDelivery, NewEmail, Permission } from './storage.ts'

/** One applied migration; `checksum` is the SHA-256 of its text in hex. */
export interface MigrationsTable {
  number: number
  name: string
  checksum: string
  applied_at: number
}

export interface TeamsTable {
  id: string
  name: string
  created_at: number
}

export interface UsersTable {
  id: string
  email: string
  /** The address in lower case: what makes two people the same. */
  email_key: string
  password_hash: string
  created_at: number
}

export interface MembersTable {
  team_id: string
  user_id: string
  role: 'owner'
  created_at: number
}

export interface SessionsTable {
  token_hash: string
  team_id: string
  user_id: string
  created_at: number
  expires_at: number
  ip: string | null
  user_agent: string | null
}

export interface ApiKeysTable {
  id: string
  team_id: string
  name: string
  permission: Permission
  domain_id: string | null
  token_hash: string
  created_at: number
  last_used_at: number | null
}

export interface DomainsTable {
  id: string
  team_id: string
  name: string
  status: DomainStatus
  region: string
  return_path: string
  /** JSON: RecordCheck[]. */
  checks: string
  created_at: number
  checked_at: number | null
}

export interface DkimKeysTable {
  id: string
  team_id: string
  domain_id: string
  selector: string
  algorithm: DkimKey['algorithm']
  private_key: Uint8Array
  public_key: string
  created_at: number
}

/** What lists and the spool need of an email; bodies are elsewhere. */
export interface EmailsTable {
  id: string
  team_id: string
  domain_id: string
  api_key_id: string | null
  via: NewEmail['via']
  from_header: string
  /** JSON: string[], like the three after it. */
  to_header: string
  cc_header: string
  bcc_header: string
  reply_to: string
  subject: string
  /** JSON: { name, value }[]. */
  headers: string
  /** JSON: Tag[]. */
  tags: string
  /** JSON: AttachmentInfo[]. */
  attachments: string
  message_id: string
  return_path: string
  /** Bytes of the message. */
  size: number
  last_event: LastEvent
  scheduled_at: number | null
  /** When it was tried for the first time: tells whether `email.sent` has been recorded. */
  sent_at: number | null
  created_at: number
}

/** The bodies as the caller gave them. */
export interface ContentsTable {
  email_id: string
  team_id: string
  html: string | null
  text: string | null
}

/** The RFC 5322 bytes; `body` is null where they are in a file of the data directory. */
export interface MessagesTable {
  email_id: string
  team_id: string
  body: Uint8Array | null
}

/** Hot: what waits, and nothing else. A delivery that reaches a final state leaves this table. */
export interface DeliveriesTable {
  id: string
  team_id: string
  email_id: string
  lane: string
  /** Recipient domain in A-labels, lower case. */
  domain: string
  due_at: number
  lease_owner: string | null
  lease_until: number | null
  held: number
  attempts: number
  created_at: number
  expires_at: number
}

/** Cold: the fate of each delivery, with the same id. While it waits, `deliveries` knows better about attempts and holds. */
export interface RecipientsTable {
  id: string
  team_id: string
  email_id: string
  recipient: string
  field: NewDelivery['field']
  lane: string
  /** `waiting` or final; whether it is held, `deliveries` tells. */
  state: DeliveryState
  attempts: number
  /** JSON: Cause. */
  cause: string | null
  created_at: number
  updated_at: number
}

export interface AttemptsTable {
  id: string
  team_id: string
  email_id: string
  /** JSON: string[]. */
  delivery_ids: string
  started_at: number
  ended_at: number
  /** JSON: Transcript. */
  transcript: string
}

export interface EventsTable {
  /** Grows with every event: consumers remember how far they have read. */
  seq: Generated<number>
  id: string
  team_id: string
  email_id: string
  delivery_id: string | null
  type: EmailEventType
  created_at: number
  /** JSON: EventData. */
  data: string
}

/** All tables by name, for Kysely. */
export interface Tables {
  migrations: MigrationsTable
  teams: TeamsTable
  users: UsersTable
  members: MembersTable
  sessions: SessionsTable
  api_keys: ApiKeysTable
  domains: DomainsTable
  dkim_keys: DkimKeysTable
  emails: EmailsTable
  contents: ContentsTable
  messages: MessagesTable
  deliveries: DeliveriesTable
  recipients: RecipientsTable
  attempts: AttemptsTable
  events: EventsTable
}
