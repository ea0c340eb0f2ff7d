/**
 * The tables, as both engines have them: instants are integer milliseconds (`bigint` in PostgreSQL), JSON is text,
 * flags are 0 or 1, bytes are `blob` or `bytea`. The definitions themselves are in `migrations/`.
 *
 * Every table carries `team_id`, except `teams` (its own id), `users` (a person may be a member of several teams), `secrets` and
 * `migrations`.
 */
import type { Generated } from 'kysely'
import type { EnvelopeDsn, ReportKind } from '../mail/dsn.ts'
import type { EmailEventType, LastEvent } from '../mail/event.ts'
import type { RequireTls } from '../mail/require-tls.ts'
import type { DeliveryState } from '../mail/verdict.ts'
import type { SuppressionOrigin } from '../mail/suppression.ts'
import type { DkimKey, Domain, DomainStatus, NewDelivery, NewEmail, Permission } from './storage.ts'

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
  /** A name of config/plans.toml; new teams get the column's default. */
  plan: Generated<string>
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
  tls: Domain['tls']
  sending: number
  receiving: number
  open_tracking: number
  click_tracking: number
  tracking_subdomain: string | null
  status_since: number | null
  verify_until: number | null
  suspect: DomainStatus | null
  suspect_since: number | null
  next_check_at: number | null
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
  state: DkimKey['state']
  state_since: number | null
  retire_at: number | null
}

export interface SuppressionsTable {
  id: string
  team_id: string
  /** What makes two addresses one: `suppressionKey`. */
  address: string
  email: string
  origin: SuppressionOrigin
  source_id: string | null
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
  report_to: string | null
  ret: EnvelopeDsn['ret']
  envid: string | null
  require_tls: RequireTls
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
  /** `NEVER`, or keywords with commas between. */
  notify: string | null
  orcpt: string | null
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

/** Reports to senders: due ones, and those that were made, so that none is made twice. */
export interface ReportsTable {
  delivery_id: string
  kind: ReportKind
  team_id: string
  email_id: string
  created_at: number
  done_at: number | null
  /** The email that is the report; null while it is due, and when there was nothing to tell any more. */
  report_id: string | null
}

/** What an idempotent request was answered, until it expires. */
export interface ReceiptsTable {
  team_id: string
  scope: string
  key: string
  fingerprint: string
  /** JSON: the body of the answer. */
  body: string
  /** JSON: string[]. */
  email_ids: string
  created_at: number
  expires_at: number
}

/** Recipients that a team sent to in one UTC day (`2026-11-20`) or month (`2026-11`). */
export interface QuotasTable {
  team_id: string
  period: string
  used: number
}

/** Keys of the appliance itself, for all teams. */
export interface SecretsTable {
  name: string
  value: Uint8Array
  created_at: number
}

/** A request of an app and its answer. */
export interface RequestLogsTable {
  id: string
  team_id: string
  api_key_id: string
  method: string
  endpoint: string
  status: number
  duration_ms: number
  ip: string
  user_agent: string | null
  /** JSON: an object, like the one after it. */
  request_body: string | null
  response_body: string | null
  created_at: number
}

/** Which emails a request made. */
export interface RequestLogEmailsTable {
  log_id: string
  email_id: string
  team_id: string
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
  suppressions: SuppressionsTable
  emails: EmailsTable
  contents: ContentsTable
  messages: MessagesTable
  deliveries: DeliveriesTable
  recipients: RecipientsTable
  attempts: AttemptsTable
  events: EventsTable
  reports: ReportsTable
  receipts: ReceiptsTable
  secrets: SecretsTable
  quotas: QuotasTable
  request_logs: RequestLogsTable
  request_log_emails: RequestLogEmailsTable
}
