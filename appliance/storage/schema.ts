/**
 * The tables, as both engines have them: times are integer milliseconds (`bigint` in PostgreSQL), JSON is text, flags
 * are 0 or 1, bytes are `blob` or `bytea`. The definitions themselves are in `migrations/`.
 *
 * Every table has `team_id`, with these exceptions: `teams` (its own ID); tables of a user, who may be a member of
 * several teams (`users`, `totp_factors`, `recovery_codes`, `passkeys`, `identities`, `tickets`); tables of the server
 * (`secrets`, `cursors`, `duties`, `nodes`, `sources`, `destinations`, `lanes`, `lane_days`, `provider_settings`,
 * `postmaster_messages`, `migrations`); and child rows of a table with `team_id`, such as `dmarc_rows`.
 */
import type { RuleMode } from '../mail/provider-rules.ts'
import type { Generated, Kysely } from 'kysely'
import type { AlertKind, AlertScope, AlertSubject } from '../mail/alert.ts'
import type { ActorKind } from '../mail/audit.ts'
import type { AuthResult as DmarcAuthResult, Disposition } from '../mail/dmarc-report.ts'
import type { DomainReportKind, TlsRow } from '../mail/domain-report.ts'
import type { EnvelopeDsn, ReportKind } from '../mail/dsn.ts'
import type { EventType, LastEvent } from '../mail/event.ts'
import type { Role } from '../mail/roles.ts'
import type { Source, Stream } from '../mail/source.ts'
import type { DeliveryState, SuppressionOrigin } from '../mail/verdict.ts'
import type { WebhookDeliveryState, WebhookStatus } from '../mail/webhook.ts'
import type { ImageType } from '../mail/image.ts'
import type { AudienceTables } from './audience/tables.ts'
import type { AutomationTables } from './automations/tables.ts'
import type { TemplateTables } from './templates/tables.ts'
import type { BroadcastTables } from './broadcasts/tables.ts'
import type {
  AlertMailState,
  TlsRequirement,
  Delegation,
  DkimAlgorithm,
  DkimKeyState,
  SubmissionChannel,
  ContentLocation,
  RecipientField,
  ForwardingState,
  DomainStatus,
  ErasurePhase,
  Permission,
  SignInMethod,
  TicketKind,
} from './values.ts'
import type { RequireTls } from '../mail/tls-policy.ts'

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
  /** A plan in config/plans.toml; new teams get the column's default. */
  plan: Generated<string>
  mfa_required: Generated<number>
  provider_rules: Generated<RuleMode>
  created_at: number
}

export interface UsersTable {
  id: string
  email: string
  /** The address in lower case, for comparison. */
  email_key: string
  password_hash: string
  created_at: number
  /** When the user proved the address; null if not yet. */
  proven_at: number | null
}

export interface MembersTable {
  team_id: string
  user_id: string
  role: Role
  created_at: number
}

export interface InvitationsTable {
  id: string
  team_id: string
  email: string
  email_key: string
  role: Role
  invited_by: string | null
  token_hash: string
  created_at: number
  expires_at: number
  /** Hash for the link that only the email contains. */
  mailed_hash: string | null
}

export interface SessionsTable {
  token_hash: string
  team_id: string
  user_id: string
  created_at: number
  expires_at: number
  id: string
  last_seen_at: number
  proved_at: number
  method: SignInMethod
  /** Whether the user completed a second step. */
  strong: number
  /** Whether a trusted identity provider vouched for the second step. */
  vouched: number
  ip: string | null
  user_agent: string | null
}

/** Authenticator apps. */
export interface TotpFactorsTable {
  user_id: string
  secret: Uint8Array
  created_at: number
  /** Null if the app can't be used yet. */
  confirmed_at: number | null
  last_used_at: number | null
  last_step: number
}

/** Unused recovery codes. */
export interface RecoveryCodesTable {
  user_id: string
  code_hash: string
  created_at: number
}

export interface PasskeysTable {
  id: string
  user_id: string
  credential_id: string
  rp_id: string
  name: string
  public_key: Uint8Array
  counter: number
  /** JSON: string[]. */
  transports: string
  synced: number
  /** 1 if the passkey is enough to sign in; 0 if it is only a second step. */
  alone: number
  created_at: number
  last_used_at: number | null
}

export interface IdentitiesTable {
  id: string
  user_id: string
  provider: string
  issuer: string
  subject: string
  email: string
  created_at: number
  last_used_at: number | null
}

/** Short-lived, single-use tokens. */
export interface TicketsTable {
  token_hash: string
  kind: TicketKind
  user_id: string | null
  /** JSON. */
  data: string
  created_at: number
  expires_at: number
  /** Number of failed attempts. */
  attempts: number
}

export interface ApiKeysTable {
  id: string
  team_id: string
  name: string
  permission: Permission
  domain_id: string | null
  token_hash: string
  /** Null if the key was created before prefixes were stored, and hasn't been used since. */
  prefix: string | null
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
  tls: TlsRequirement
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
  /** 0 if bodies of the domain's emails are deleted once the emails are final. */
  keep_bodies: Generated<number>
  /** JSON: ReceivingRule[]. */
  receiving_rules: Generated<string>
  delegation: Generated<Delegation>
}

export interface DnsSerialTable {
  id: number
  serial: number
  digest: string
}

export interface DkimKeysTable {
  id: string
  team_id: string
  domain_id: string
  selector: string
  algorithm: DkimAlgorithm
  private_key: Uint8Array
  public_key: string
  created_at: number
  state: DkimKeyState
  state_since: number | null
  retire_at: number | null
}

export interface SuppressionsTable {
  id: string
  team_id: string
  /** The address, normalized by `toSuppressionKey`. */
  address: string
  email: string
  origin: SuppressionOrigin
  source_id: string | null
  created_at: number
  reason: string | null
  /** One line. */
  reply: string | null
  removed_at: number | null
}

/** Addresses that were removed from the suppression list, and when they last were. */
export interface UnsuppressedTable {
  team_id: string
  address: string
  removed_at: number
}

/** The fields of an email for lists and the spool. Bodies are in another table. */
export interface EmailsTable {
  id: string
  team_id: string
  domain_id: string
  api_key_id: string | null
  via: SubmissionChannel
  from_header: string
  /** JSON: string[], like the next three columns. */
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
  /** Time of the first attempt; not null once `email.sent` is recorded. */
  sent_at: number | null
  created_at: number
  report_to: string | null
  ret: EnvelopeDsn['ret']
  envid: string | null
  require_tls: RequireTls
  topic_id: string | null
  template_id: string | null
  template_version_id: string | null
  /** The email's broadcast, and the contact that it goes to. */
  broadcast_id: string | null
  contact_id: string | null
}

/**
 * HTML and text of an email as the app gave them, and the RFC 5322 bytes, which are null if they are in a file of the
 * data directory.
 */
export interface MessagesTable {
  email_id: string
  team_id: string
  content: ContentLocation
  html: string | null
  text: string | null
  body: Uint8Array | null
}

/** One recipient of an email and its state. The queue columns are null if the delivery is final. */
export interface DeliveriesTable {
  email_id: string
  id: string
  team_id: string
  recipient: string
  field: RecipientField
  /** Pool and provider of the queue, or of the last attempt. */
  pool: string
  provider: string
  state: DeliveryState
  attempts: number
  created_at: number
  updated_at: number
  /** `formatQueueName` of the pool, provider, stream and team. `lease` searches by this column. */
  queue: string | null
  stream: Stream | null
  /** Recipient domain in A-labels, lower case. */
  domain: string | null
  due_at: number | null
  /** Not null if the delivery is waiting or held. */
  expires_at: number | null
  lease_owner: string | null
  lease_until: number | null
  /** The audit entry that last held, released or rerouted the delivery. */
  touched_by: string | null
  /** The pool that the delivery was in before the last reroute. */
  pool_before: string | null
  /** `NEVER`, or keywords separated by commas. */
  notify: string | null
  orcpt: string | null
  /** JSON: Cause. */
  cause: string | null
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
  /** Increases with every event. Readers use cursors instead of comparing it (events.ts). */
  seq: Generated<number>
  id: string
  team_id: string
  /** Null for an event that is not about an email. */
  email_id: string | null
  delivery_id: string | null
  type: EventType
  created_at: number
  /** JSON: EventData. */
  data: string
  /** The event's contribution to the metrics: counter names separated by spaces, the amount, and the keys. */
  counted: Generated<string>
  amount: Generated<number>
  domain_id: Generated<string>
  provider: Generated<string>
}

/** Roll-ups of the events: counters per 15 minutes (start in Unix milliseconds). */
export interface MetricsTable {
  team_id: string
  at: number
  domain_id: string
  counter: string
  provider: string
  n: number
}

/** Counters of a broadcast per 15 minutes. */
export interface MetricsBroadcastsTable {
  team_id: string
  at: number
  broadcast_id: string
  domain_id: string
  counter: string
  n: number
}

/** 15-minute periods with deleted events, so that their roll-ups can't be recomputed. */
export interface MetricsKeptTable {
  team_id: string
  at: number
}

/** Sums of the roll-ups per hour, day and week, for past periods (storage/metrics/sums.ts). */
export interface MetricsSumsTable {
  team_id: string
  dimension: 'all' | 'domain' | 'provider'
  /** Milliseconds. */
  length: number
  at: number
  /** The domain or provider; empty for the sum of all. */
  value: string
  counter: string
  n: number
}

/** The UTC midnight up to which the sums of a team are complete. */
export interface MetricsSummedTable {
  team_id: string
  until: number
}

/** Roll-ups by tag per 15 minutes, from the events up to the cursor `tags`. */
export interface MetricsTagsTable {
  team_id: string
  at: number
  domain_id: string
  provider: string
  /** `name:value`; empty for tags that are counted together (storage/metrics/tag-counts.ts). */
  tag: string
  counter: string
  n: number
}

/** Roll-ups by tag per UTC day. */
export interface MetricsTagsDaysTable {
  team_id: string
  dimension: 'all' | 'domain' | 'provider'
  at: number
  /** The domain or provider; empty for the sum of all. */
  value: string
  tag: string
  counter: string
  n: number
}

/** Disk usage on a UTC day, in bytes. */
export interface DiskDaysTable {
  day: string
  bytes: number
}

/** Emails of domains that don't keep bodies, to be checked for whether they are final. */
export interface BodiesDueTable {
  email_id: string
  team_id: string
  /** 1 if the row is part of an erasure; then it stays until the email is final. */
  erased: Generated<number>
}

/** Erasures of personal data. The row also serves as the receipt. */
export interface ErasuresTable {
  id: string
  team_id: string
  /** Null once the erasure is finished. */
  address: string | null
  hash: string
  actor: string
  actor_kind: ActorKind
  created_at: number
  finished_at: number | null
  phase: ErasurePhase
  after: string
  /** JSON of `ErasureCounts`. */
  counts: string
  /** JSON: string[]. */
  files: string
}

/** The position up to which each consumer has read the events, for the whole server. */
export interface CursorsTable {
  name: string
  xid: Generated<number>
  seq: number
}

export interface WebhooksTable {
  id: string
  team_id: string
  endpoint: string
  /** JSON: string[]. */
  events: string
  status: WebhookStatus
  secret: string
  old_secret: string | null
  old_secret_until: number | null
  created_at: number
  succeeded_at: number | null
  failing_since: number | null
  /** Number of consecutive failures since the last success. */
  failures: number
  disabled_at: number | null
  disabled_reason: string | null
  /** Whether events about emails of broadcasts are sent to the webhook. */
  broadcasts: Generated<0 | 1>
}

/** Webhook deliveries, pending and final. */
export interface WebhookDeliveriesTable {
  id: string
  webhook_id: string
  team_id: string
  event_id: string | null
  email_id: string | null
  type: string
  /** The JSON that is sent. */
  payload: string
  created_at: number
  status: WebhookDeliveryState
  attempts: number
  /** Null if the delivery is final. While an attempt runs, the time of the next one in case of a crash. */
  due_at: number | null
  settled_at: number | null
}

export interface WebhookAttemptsTable {
  id: string
  delivery_id: string
  webhook_id: string
  team_id: string
  sent_at: number
  duration_ms: number
  status: number | null
  error: string | null
  ip: string | null
  /** JSON: an object of strings, like the next column. */
  request_headers: string
  response_headers: string
  response: string
}

/** Returned messages, from clients that haven't signed in. */
export interface ReturnedMessagesTable {
  id: string
  team_id: string
  email_id: string
  received_at: number
  mail_from: string
  rcpt_to: string
  ip: string
  helo: string
  tls: string | null
  size: number
  /** Null if the content of the email isn't kept. */
  body: Uint8Array | null
  /** JSON (`ReturnedMailReport`); null if the message wasn't read. */
  report: string | null
}

/** Messages to return paths with a valid MAC that haven't been read yet. */
export interface ReturnedUnreadTable {
  id: string
  due_at: number
  attempts: number
  /** Null if the body is in `returned_messages`. */
  body: Uint8Array | null
}

/** Received emails, one row for each team and message. */
export interface ReceivedEmailsTable {
  id: string
  team_id: string
  domain_id: string
  received_at: number
  mail_from: string
  /** JSON: a list of addresses, like the header fields below except From. */
  received_for: string
  ip: string
  helo: string
  tls: string | null
  size: number
  from_header: string
  to_header: string
  cc_header: string
  bcc_header: string
  reply_to_header: string
  subject: string
  message_id: string
  /** JSON: `AttachmentInfo[]`. */
  attachments: string
  /** JSON: `Authentication`. */
  authentication: string
  /** JSON: `SpamVerdict`. */
  spam: string | null
  is_spam: number
  answers_email_id: string | null
  /** 0 if the message is neither in `received_sources` nor in a file. */
  has_content: number
  in_file: number
}

/** Forwards of received emails. */
export interface ReceivedForwardsTable {
  received_id: string
  recipient: string
  state: 'pending' | 'sent' | 'skipped'
  email_id: string | null
  reason: string | null
}

/** The bytes of received emails. */
export interface ReceivedSourcesTable {
  id: string
  body: Uint8Array
}

/** Domain reports from other servers. */
export interface DomainReportsTable {
  id: string
  team_id: string
  domain_id: string
  kind: DomainReportKind
  received_at: number
  submitter: string
  organization: string
  report_id: string
  policy_domain: string
  /** JSON: `PublishedPolicy`, or the text `null`. */
  policy: string
  begin_at: number
  end_at: number
  total: number
  failed: number
  skipped: number
  row_count: number
}

/** Rows of DMARC reports, by source. */
export interface DmarcRowsTable {
  report: string
  position: number
  source_ip: string
  header_from: string
  disposition: Disposition
  dkim_aligned: number
  spf_aligned: number
  dkim_domain: string
  dkim_result: DmarcAuthResult
  spf_domain: string
  spf_result: DmarcAuthResult
  reason: string
  messages: number
}

/** Rows of TLS reports. `failure` is empty for successful sessions. */
export interface TlsRowsTable {
  report: string
  position: number
  policy_type: TlsRow['policyType']
  failure: string
  receiving_mx: string
  reason: string
  sessions: number
}

/** Bytes of each team's returned messages, updated by triggers. */
export interface ReturnedUseTable {
  team_id: string
  bytes: number
}

/** Mail to postmaster and abuse addresses. */
export interface PostmasterMessagesTable extends Omit<
  ReturnedMessagesTable,
  'team_id' | 'email_id' | 'body' | 'report'
> {
  body: Uint8Array
  forward: ForwardingState
  forwarded_as: string | null
  reason: string | null
}

/** Reports to senders, both due and already created, so that each is created only once. */
export interface ReportsTable {
  delivery_id: string
  kind: ReportKind
  team_id: string
  email_id: string
  created_at: number
  done_at: number | null
  /** ID of the report's email; null while the report is due, or if it was dropped. */
  report_id: string | null
}

/** The provider of each recipient domain that was looked up. */
export interface DestinationsTable {
  domain: string
  provider: string
  placed_at: number
}

/** The last saved state of the lanes. */
export interface LanesTable {
  source: string
  provider: string
  /** JSON in a format that only the lanes use. */
  state: string
  paused_until: number | null
  reason: string | null
  reason_at: number | null
  updated_at: number
}

/** Operators' settings for a provider. */
export interface ProviderSettingsTable {
  provider: string
  /** JSON: an object. */
  settings: string
  updated_at: number
}

/** Statistics of each lane per UTC day (`2026-11-20`). */
export interface LaneDaysTable {
  day: string
  source: string
  provider: string
  sent: number
  delivered: number
  deferred: number
  bounced: number
}

/** The response to an idempotent request, until it expires. */
export interface ReceiptsTable {
  team_id: string
  scope: string
  key: string
  fingerprint: string
  /** JSON: the response body. */
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

/** Keys of the server, for all teams. */
export interface SecretsTable {
  name: string
  value: Uint8Array
  created_at: number
}

/** A request of an app and its response. */
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
  /** JSON: an object, like the next column. */
  request_body: string | null
  response_body: string | null
  created_at: number
  query: string | null
  enhanced: string | null
  message: string | null
  /** ID of the email that the request created; null if it created none or several. */
  email_id: string | null
}

/** The emails of requests that created more than one. */
export interface RequestLogEmailsTable {
  log_id: string
  email_id: string
  team_id: string
}

/** MTA-STS policies of recipient domains. They don't belong to a team. */
export interface StsPoliciesTable {
  domain: string
  policy_id: string
  /** JSON of `StsPolicy`. */
  policy: string
  checked_at: number
  used_at: number
  expires_at: number
}

/** Results of TLS sessions. They don't belong to a team, because TLS reports describe the sending server. */
export interface TlsResultsTable {
  day: string
  domain: string
  policy_key: string
  result: string
  source_ip: string
  mx_host: string
  mx_ip: string
  /** JSON of `ReportedPolicy`. */
  policy: string
  reason: string
  sessions: number
}

export interface TlsReportsTable {
  day: string
  domain: string
  state: 'sent' | 'none' | 'failed'
  note: string
  at: number
}

/** Leases for work that only one node does at a time. */
export interface DutiesTable {
  name: string
  owner: string
  /** Increases each time the owner changes. */
  term: number
  until: number
}

/** Nodes: installations of the program that share one storage. */
export interface NodesTable {
  id: string
  created_at: number
  name: Generated<string>
  run: string | null
  state: Generated<'active' | 'leaving' | 'stopped'>
  started_at: number | null
  heartbeat_at: number | null
  facts: string | null
  voided: Generated<number>
}

export interface SourcesTable {
  ip: string
  /** The node that sends from this IP. */
  node_id: string
  pool: string
  hostname: string | null
  state: Source['state']
  state_reason: string | null
  suspended_by: Source['suspendedBy']
  warm_up_since: number | null
  origin: Source['origin']
  /** JSON of `SourceHealth`. */
  health: string | null
  checked_at: number | null
}

/** Which mail uses which pool. Null means any team, domain or stream. */
export interface PoolAssignmentsTable {
  id: string
  team_id: string | null
  domain_id: string | null
  stream: Stream | null
  pool: string
}

/** Pools that are in a region. */
export interface PoolRegionsTable {
  pool: string
  region: string
}

/** Regions whose mail leaves from another region. */
export interface RegionFailoversTable {
  region: string
  target: string
  since: number
  audit_id: string
}

/** Audit log entries. */
export interface AuditLogTable {
  id: string
  /** Null if the action affects the whole server. */
  team_id: string | null
  at: number
  actor: string
  actor_kind: ActorKind
  actor_name: string | null
  ip: string | null
  action: string
  target: string
  target_name: string | null
  /** JSON, like the next two columns. */
  before: string | null
  after: string | null
  details: string
}

/** Rules for holding new mail; null matches any. */
export interface HoldRulesTable {
  id: string
  team_id: string | null
  domain: string | null
  provider: string | null
  tag_name: string | null
  tag_value: string | null
  created_at: number
}

/** Images in emails, with their bytes. */
export interface ImagesTable {
  team_id: string
  /** SHA-256 of the body, in hex. */
  id: string
  type: ImageType
  width: number
  height: number
  /** Size of the body. */
  bytes: number
  body: Uint8Array
  used_at: number | null
  created_at: number
}

/** Alerts, open and past. */
export interface AlertsTable {
  id: string
  team_id: string
  scope: AlertScope
  kind: AlertKind
  subject_type: AlertSubject['type']
  subject_id: string
  subject_name: string
  note: string
  /** Millionths. */
  value: number
  value_limit: number | null
  opened_at: number
  calm_since: number | null
  closed_at: number | null
  muted: number
  /** Whether the owners still have to get an email about the alert. */
  mail_opened: AlertMailState
  mail_closed: AlertMailState
  /** When the owners got the last email about the alert. */
  mailed_at: number | null
}

/** Number of sent emails of a domain that failed each check, by UTC day. */
export interface InsightDaysTable {
  team_id: string
  domain_id: string
  /** `2026-11-20`. */
  day: string
  /** Empty for the number of emails that were checked. */
  check_id: string
  n: number
}

/** Alert settings of the teams that changed them. */
export interface AlertSettingsTable {
  team_id: string
  email: number
  /** Muted kinds of alerts, separated by spaces. */
  muted: string
}

export interface Tables extends AudienceTables, AutomationTables, BroadcastTables, TemplateTables {
  alerts: AlertsTable
  alert_settings: AlertSettingsTable
  insight_days: InsightDaysTable
  images: ImagesTable
  migrations: MigrationsTable
  teams: TeamsTable
  users: UsersTable
  members: MembersTable
  invitations: InvitationsTable
  sessions: SessionsTable
  totp_factors: TotpFactorsTable
  recovery_codes: RecoveryCodesTable
  passkeys: PasskeysTable
  tickets: TicketsTable
  identities: IdentitiesTable
  api_keys: ApiKeysTable
  domains: DomainsTable
  dkim_keys: DkimKeysTable
  dns_serial: DnsSerialTable
  suppressions: SuppressionsTable
  unsuppressed: UnsuppressedTable
  sts_policies: StsPoliciesTable
  tls_results: TlsResultsTable
  tls_reports: TlsReportsTable
  emails: EmailsTable
  messages: MessagesTable
  deliveries: DeliveriesTable
  attempts: AttemptsTable
  events: EventsTable
  metrics: MetricsTable
  metrics_broadcasts: MetricsBroadcastsTable
  metrics_kept: MetricsKeptTable
  metrics_sums: MetricsSumsTable
  metrics_summed: MetricsSummedTable
  metrics_tags: MetricsTagsTable
  metrics_tags_days: MetricsTagsDaysTable
  cursors: CursorsTable
  disk_days: DiskDaysTable
  bodies_due: BodiesDueTable
  erasures: ErasuresTable
  webhooks: WebhooksTable
  webhook_deliveries: WebhookDeliveriesTable
  webhook_attempts: WebhookAttemptsTable
  returned_messages: ReturnedMessagesTable
  returned_unread: ReturnedUnreadTable
  returned_use: ReturnedUseTable
  received_emails: ReceivedEmailsTable
  received_forwards: ReceivedForwardsTable
  received_sources: ReceivedSourcesTable
  domain_reports: DomainReportsTable
  dmarc_rows: DmarcRowsTable
  tls_rows: TlsRowsTable
  postmaster_messages: PostmasterMessagesTable
  reports: ReportsTable
  destinations: DestinationsTable
  lanes: LanesTable
  provider_settings: ProviderSettingsTable
  lane_days: LaneDaysTable
  receipts: ReceiptsTable
  secrets: SecretsTable
  quotas: QuotasTable
  request_logs: RequestLogsTable
  request_log_emails: RequestLogEmailsTable
  sources: SourcesTable
  nodes: NodesTable
  duties: DutiesTable
  pool_assignments: PoolAssignmentsTable
  pool_regions: PoolRegionsTable
  region_failovers: RegionFailoversTable
  audit_log: AuditLogTable
  hold_rules: HoldRulesTable
}

/** A connection within a transaction, for methods that are written once for both engines. */
export type Db = Kysely<Tables>
