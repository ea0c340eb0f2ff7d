-- The schema. Instants are integer milliseconds, JSON is text, flags are 0 or 1.
-- Every table carries team_id, but those of a person and of the appliance itself (schema.ts).

-- Teams and people

create table teams (
  id text primary key,
  name text not null,
  created_at integer not null,
  plan text not null default 'unlimited',
  mfa_required integer not null default 0 check (mfa_required in (0, 1))
) strict, without rowid;

create table users (
  id text primary key,
  email text not null,
  email_key text not null unique,
  password_hash text not null,
  created_at integer not null,
  proven_at integer
) strict, without rowid;

create table members (
  team_id text not null references teams (id) on delete cascade,
  user_id text not null references users (id) on delete cascade,
  role text not null check (role in ('owner', 'admin', 'developer', 'viewer')),
  created_at integer not null,
  primary key (team_id, user_id)
) strict, without rowid;
create index members_user on members (user_id);

create table invitations (
  id text primary key,
  team_id text not null references teams (id) on delete cascade,
  email text not null,
  email_key text not null,
  role text not null check (role in ('owner', 'admin', 'developer', 'viewer')),
  invited_by text references users (id) on delete set null,
  token_hash text not null unique,
  created_at integer not null,
  expires_at integer not null,
  mailed_hash text,
  unique (team_id, email_key)
) strict, without rowid;
create index invitations_email on invitations (email_key);
create index invitations_expiry on invitations (expires_at);
create index invitations_inviter on invitations (invited_by);
create unique index invitations_mailed on invitations (mailed_hash);

create table sessions (
  token_hash text primary key,
  id text not null unique,
  team_id text not null references teams (id) on delete cascade,
  user_id text not null references users (id) on delete cascade,
  created_at integer not null,
  expires_at integer not null,
  last_seen_at integer not null,
  proved_at integer not null,
  method text not null,
  strong integer not null check (strong in (0, 1)),
  ip text,
  user_agent text,
  vouched integer not null default 0 check (vouched in (0, 1))
) strict, without rowid;
create index sessions_expiry on sessions (expires_at);
create index sessions_user on sessions (user_id);

create table totp_factors (
  user_id text primary key references users (id) on delete cascade,
  secret blob not null,
  created_at integer not null,
  confirmed_at integer,
  last_used_at integer,
  last_step integer not null
) strict, without rowid;

create table recovery_codes (
  user_id text not null references users (id) on delete cascade,
  code_hash text not null,
  created_at integer not null,
  primary key (user_id, code_hash)
) strict, without rowid;

create table passkeys (
  id text primary key,
  user_id text not null references users (id) on delete cascade,
  credential_id text not null unique,
  rp_id text not null,
  name text not null,
  public_key blob not null,
  counter integer not null,
  transports text not null,
  synced integer not null check (synced in (0, 1)),
  created_at integer not null,
  last_used_at integer,
  alone integer not null default 1 check (alone in (0, 1))
) strict, without rowid;
create index passkeys_user on passkeys (user_id);

create table tickets (
  token_hash text primary key,
  kind text not null,
  user_id text references users (id) on delete cascade,
  data text not null,
  created_at integer not null,
  expires_at integer not null,
  attempts integer not null
) strict, without rowid;
create index tickets_expiry on tickets (expires_at);
create index tickets_user on tickets (user_id);

create table identities (
  id text primary key not null,
  user_id text not null references users (id) on delete cascade,
  provider text not null,
  issuer text not null,
  subject text not null,
  email text not null,
  created_at integer not null,
  last_used_at integer,
  unique (issuer, subject)
) strict, without rowid;
create index identities_user on identities (user_id, id);

-- Who sends

create table domains (
  id text primary key,
  team_id text not null references teams (id) on delete cascade,
  name text not null,
  status text not null,
  region text not null,
  return_path text not null,
  checks text not null,
  created_at integer not null,
  checked_at integer,
  tls text not null default 'opportunistic' check (tls in ('opportunistic', 'enforced')),
  sending integer not null default 1 check (sending in (0, 1)),
  receiving integer not null default 0 check (receiving in (0, 1)),
  open_tracking integer not null default 0 check (open_tracking in (0, 1)),
  click_tracking integer not null default 0 check (click_tracking in (0, 1)),
  tracking_subdomain text,
  status_since integer,
  verify_until integer,
  suspect text,
  suspect_since integer,
  next_check_at integer,
  keep_bodies integer not null default 1 check (keep_bodies in (0, 1)),
  unique (name, team_id)
) strict, without rowid;
create index domains_team on domains (team_id, id);
create index domains_due on domains (next_check_at) where next_check_at is not null;
create index domains_without_bodies on domains (id) where keep_bodies = 0;
create unique index domains_holder on domains (name) where status in ('verified', 'partially_failed');

create table dkim_keys (
  id text primary key,
  team_id text not null references teams (id) on delete cascade,
  domain_id text not null references domains (id) on delete cascade,
  selector text not null,
  algorithm text not null,
  private_key blob not null,
  public_key text not null,
  created_at integer not null,
  state text not null default 'active' check (state in ('pending', 'active', 'retiring', 'retired')),
  state_since integer,
  retire_at integer
) strict;
create index dkim_keys_domain on dkim_keys (domain_id, id);
create unique index dkim_keys_selector on dkim_keys (domain_id, selector);

create table api_keys (
  id text primary key,
  team_id text not null references teams (id) on delete cascade,
  name text not null,
  permission text not null check (permission in ('full_access', 'sending_access')),
  domain_id text references domains (id) on delete cascade,
  token_hash text not null unique,
  created_at integer not null,
  last_used_at integer,
  prefix text
) strict, without rowid;
create index api_keys_team on api_keys (team_id, id);
create index api_keys_domain on api_keys (domain_id) where domain_id is not null;

create table quotas (
  team_id text not null references teams (id) on delete cascade,
  period text not null,
  used integer not null,
  primary key (team_id, period)
) strict, without rowid;

create table suppressions (
  id text primary key,
  team_id text not null references teams (id) on delete cascade,
  address text not null,
  email text not null,
  origin text not null check (origin in ('bounce', 'complaint', 'manual')),
  source_id text,
  created_at integer not null,
  reason text,
  reply text,
  removed_at integer,
  unique (team_id, address)
) strict, without rowid;
create index suppressions_team on suppressions (team_id, id);

create table unsuppressed (
  team_id text not null references teams (id) on delete cascade,
  address text not null,
  removed_at integer not null,
  primary key (team_id, address)
) strict, without rowid;

create table sources (
  ip text primary key,
  node_id text not null,
  pool text not null default 'default',
  hostname text,
  state text not null default 'active' check (state in ('active', 'suspended')),
  state_reason text,
  suspended_by text check (suspended_by in ('operator', 'check')),
  warm_up_since integer,
  origin text not null check (origin in ('configuration', 'operator')),
  health text,
  checked_at integer
) strict, without rowid;

create table pool_assignments (
  id text primary key,
  team_id text references teams (id) on delete cascade,
  domain_id text references domains (id) on delete cascade,
  stream text check (stream in ('transactional', 'broadcast')),
  pool text not null
) strict, without rowid;
create unique index pool_assignments_about
  on pool_assignments (coalesce(team_id, ''), coalesce(domain_id, ''), coalesce(stream, ''));
create index pool_assignments_team on pool_assignments (team_id);
create index pool_assignments_domain on pool_assignments (domain_id);

-- Emails

create table emails (
  id text primary key,
  team_id text not null references teams (id),
  domain_id text not null,
  api_key_id text,
  via text not null,
  from_header text not null,
  to_header text not null,
  cc_header text not null,
  bcc_header text not null,
  reply_to text not null,
  subject text not null,
  headers text not null,
  tags text not null,
  attachments text not null,
  message_id text not null,
  return_path text not null,
  size integer not null,
  last_event text not null,
  scheduled_at integer,
  sent_at integer,
  created_at integer not null,
  report_to text,
  ret text check (ret in ('FULL', 'HDRS')),
  envid text,
  require_tls text check (require_tls in ('yes', 'no'))
) strict;
create index emails_team on emails (team_id, id);
create index emails_trouble on emails (team_id, last_event, id)
  where last_event in ('delivery_delayed', 'bounced', 'complained', 'failed', 'canceled', 'suppressed');

-- One row for what an email says. html and text are null where they are in the message. The small columns come first, so reading them reads
-- no message.
create table messages (
  email_id text primary key references emails (id) on delete cascade,
  team_id text not null,
  content text not null check (content in ('row', 'message', 'unfinished')),
  html text,
  text text,
  body blob
) strict;
create index messages_files on messages (email_id) where body is null;

create table bodies_due (
  email_id text primary key not null references emails (id) on delete cascade,
  team_id text not null,
  erased integer not null default 0 check (erased in (0, 1))
) strict, without rowid;

create table attempts (
  id text primary key,
  team_id text not null,
  email_id text not null references emails (id) on delete cascade,
  delivery_ids text not null,
  started_at integer not null,
  ended_at integer not null,
  transcript text not null
) strict;
create index attempts_email on attempts (email_id, id);

create table receipts (
  team_id text not null references teams (id) on delete cascade,
  scope text not null,
  key text not null,
  fingerprint text not null,
  body text not null,
  email_ids text not null,
  created_at integer not null,
  expires_at integer not null,
  primary key (team_id, scope, key)
) strict;
create index receipts_expiry on receipts (expires_at);

-- Found by the email and deleted with it. The index: what is due.
create table reports (
  email_id text not null references emails (id) on delete cascade,
  delivery_id text not null,
  kind text not null check (kind in ('failed', 'delayed', 'relayed')),
  team_id text not null,
  created_at integer not null,
  done_at integer,
  report_id text,
  primary key (email_id, delivery_id, kind)
) strict, without rowid;
create index reports_due on reports (email_id, kind) where done_at is null;

create table returned_messages (
  id text primary key not null,
  team_id text not null references teams (id) on delete cascade,
  email_id text not null references emails (id) on delete cascade,
  received_at integer not null,
  mail_from text not null,
  rcpt_to text not null,
  ip text not null,
  helo text not null,
  tls text,
  size integer not null,
  body blob
) strict;
create index returned_messages_email on returned_messages (email_id, id);
create index returned_messages_team on returned_messages (team_id, id);

create table returned_use (
  team_id text primary key not null references teams (id) on delete cascade,
  bytes integer not null
) strict, without rowid;

create table postmaster_messages (
  id text primary key not null,
  received_at integer not null,
  mail_from text not null,
  rcpt_to text not null,
  ip text not null,
  helo text not null,
  tls text,
  size integer not null,
  body blob not null,
  forward text not null check (forward in ('off', 'due', 'done', 'skipped')),
  forwarded_as text,
  reason text
) strict;
create index postmaster_messages_due on postmaster_messages (id) where forward = 'due';

-- What waits

-- One row for each recipient, whether it waits or not. Two B-trees remain, in the order of the emails; four partial indexes contain what
-- waits, and nothing else. A final delivery has null in the columns of the queue. With a rowid: rows of some 400 bytes make a deep tree in an
-- index, and the indexes would have both ids in each entry (docs/decisions/0023-lean-rows.md).
create table deliveries (
  email_id text not null references emails (id) on delete cascade,
  id text not null,
  team_id text not null,
  recipient text not null,
  field text not null check (field in ('to', 'cc', 'bcc')),
  pool text not null,
  provider text not null,
  state text not null,
  attempts integer not null,
  created_at integer not null,
  updated_at integer not null,
  queue text,
  stream text check (stream in ('transactional', 'broadcast')),
  domain text,
  due_at integer check ((due_at is null) = (expires_at is null)),
  expires_at integer check ((expires_at is not null) = (state in ('waiting', 'held'))),
  lease_owner text,
  lease_until integer,
  touched_by text,
  pool_before text,
  notify text,
  orcpt text,
  cause text,
  primary key (email_id, id)
) strict;
-- The oldest that are due, of a stream: the head that a lease looks at, and the next due time.
create index deliveries_due on deliveries (stream, due_at, queue, lease_until) where state = 'waiting';
-- The oldest of a queue, and which queues there are: leases where the head is not all that is due.
create index deliveries_queue on deliveries (queue, due_at, lease_until) where state = 'waiting';
-- By a column that no lease changes, which would else write these two as well.
-- One that waits by its id (settle, operators), and all of them in the order in which they were accepted (operators).
create unique index deliveries_waiting on deliveries (id) where expires_at is not null;
-- What waits for a domain: when its provider becomes known, and for operators and erasures.
create index deliveries_domain on deliveries (domain, id) where expires_at is not null;
-- What is in flight: after a start the leases of the process before are void. Small, and found without reading what waits.
create index deliveries_leased on deliveries (lease_owner) where lease_owner is not null;

create table destinations (
  domain text primary key,
  provider text not null,
  placed_at integer not null
) strict, without rowid;

create table hold_rules (
  id text primary key,
  team_id text references teams (id) on delete cascade,
  domain text,
  provider text,
  tag_name text,
  tag_value text,
  created_at integer not null
) strict, without rowid;
create index hold_rules_team on hold_rules (team_id);
create index hold_rules_provider on hold_rules (provider);

create table lanes (
  source text not null,
  provider text not null,
  state text not null,
  paused_until integer,
  reason text,
  reason_at integer,
  updated_at integer not null,
  primary key (source, provider)
) strict, without rowid;

create table lane_days (
  day text not null,
  source text not null,
  provider text not null,
  sent integer not null,
  delivered integer not null,
  deferred integer not null,
  bounced integer not null,
  primary key (day, source, provider)
) strict, without rowid;

create table provider_settings (
  provider text primary key,
  settings text not null,
  updated_at integer not null
) strict, without rowid;

-- What happened

create table events (
  seq integer primary key autoincrement,
  id text not null unique,
  team_id text not null,
  email_id text references emails (id) on delete cascade,
  delivery_id text,
  type text not null,
  created_at integer not null,
  data text not null,
  counted text not null default '',
  amount integer not null default 1,
  domain_id text not null default '',
  provider text not null default ''
) strict;
create index events_email on events (email_id, seq);
create index events_team on events (team_id, created_at, seq);

-- Readers of events remember the transaction of the last one, too (storage/event-cursor.ts). It is always 0 here.
create table cursors (
  name text primary key not null,
  seq integer not null,
  xid integer not null default 0
) strict, without rowid;

create table metrics (
  team_id text not null,
  at integer not null,
  domain_id text not null,
  counter text not null,
  provider text not null,
  n integer not null,
  primary key (team_id, at, domain_id, counter, provider)
) strict, without rowid;

create table metrics_kept (
  team_id text not null,
  at integer not null,
  primary key (team_id, at)
) strict, without rowid;

create table metrics_summed (
  team_id text primary key,
  until integer not null
) strict, without rowid;

create table metrics_sums (
  team_id text not null,
  dimension text not null,
  length integer not null,
  at integer not null,
  value text not null,
  counter text not null,
  n integer not null,
  primary key (team_id, dimension, length, at, value, counter)
) strict, without rowid;

create view metrics_late as select team_id, at, domain_id, counter, provider, n from metrics where false;

create table metrics_tags (
  team_id text not null,
  at integer not null,
  domain_id text not null,
  provider text not null,
  tag text not null,
  counter text not null,
  n integer not null,
  primary key (team_id, at, domain_id, provider, tag, counter)
) strict, without rowid;

create table metrics_tags_days (
  team_id text not null,
  dimension text not null,
  at integer not null,
  value text not null,
  tag text not null,
  counter text not null,
  n integer not null,
  primary key (team_id, dimension, at, value, tag, counter)
) strict, without rowid;

create table webhooks (
  id text primary key not null,
  team_id text not null references teams (id) on delete cascade,
  endpoint text not null,
  events text not null,
  status text not null check (status in ('enabled', 'disabled')),
  secret text not null,
  old_secret text,
  old_secret_until integer,
  created_at integer not null,
  succeeded_at integer,
  failing_since integer,
  failures integer not null default 0,
  disabled_at integer,
  disabled_reason text
) strict;
create index webhooks_team on webhooks (team_id, id);

create table webhook_deliveries (
  id text primary key not null,
  webhook_id text not null,
  team_id text not null references teams (id) on delete cascade,
  event_id text,
  email_id text,
  type text not null,
  payload text not null,
  created_at integer not null,
  status text not null check (status in ('pending', 'attempting', 'success', 'failed')),
  attempts integer not null,
  due_at integer,
  settled_at integer
) strict;
create unique index webhook_deliveries_event on webhook_deliveries (webhook_id, event_id);
create index webhook_deliveries_list on webhook_deliveries (webhook_id, id);
create index webhook_deliveries_due on webhook_deliveries (webhook_id, due_at, id) where due_at is not null;
create index webhook_deliveries_settled on webhook_deliveries (settled_at) where settled_at is not null;
create index webhook_deliveries_team on webhook_deliveries (team_id);
create index webhook_deliveries_email on webhook_deliveries (email_id) where email_id is not null;

create table webhook_attempts (
  id text primary key not null,
  delivery_id text not null references webhook_deliveries (id) on delete cascade,
  webhook_id text not null,
  team_id text not null,
  sent_at integer not null,
  duration_ms integer not null,
  status integer,
  error text,
  ip text,
  request_headers text not null,
  response_headers text not null,
  response text not null
) strict;
create index webhook_attempts_delivery on webhook_attempts (delivery_id, id);
create index webhook_attempts_webhook on webhook_attempts (webhook_id, id);

-- What is written down

create table request_logs (
  id text primary key not null,
  team_id text not null references teams (id) on delete cascade,
  api_key_id text not null,
  method text not null,
  endpoint text not null,
  status integer not null,
  duration_ms integer not null,
  ip text not null,
  user_agent text,
  request_body text,
  response_body text,
  created_at integer not null,
  query text,
  enhanced text,
  message text,
  email_id text
) strict;
create index request_logs_team on request_logs (team_id, id);
create index request_logs_email on request_logs (email_id) where email_id is not null;

-- A request that made one email names it itself; this is for batches.
create table request_log_emails (
  log_id text not null references request_logs (id) on delete cascade,
  email_id text not null,
  team_id text not null,
  primary key (log_id, email_id)
) strict, without rowid;
create index request_log_emails_email on request_log_emails (email_id);

create table audit_log (
  id text primary key,
  team_id text,
  at integer not null,
  actor text not null,
  actor_kind text not null check (actor_kind in ('user', 'api_key', 'command', 'system')),
  ip text,
  action text not null,
  target text not null,
  before text,
  after text,
  details text not null,
  actor_name text,
  target_name text
) strict, without rowid;
create index audit_log_team on audit_log (team_id, id);

create table erasures (
  id text primary key not null,
  team_id text not null references teams (id) on delete cascade,
  address text,
  hash text not null,
  actor text not null,
  actor_kind text not null,
  created_at integer not null,
  finished_at integer,
  phase text not null,
  after text not null,
  counts text not null,
  files text not null
) strict, without rowid;
create index erasures_team on erasures (team_id, id);
create index erasures_unfinished on erasures (id) where finished_at is null;

create table disk_days (
  day text primary key not null,
  bytes integer not null
) strict, without rowid;

-- TLS policies and reports

create table sts_policies (
  domain text primary key,
  policy_id text not null,
  policy text not null,
  checked_at integer not null,
  used_at integer not null,
  expires_at integer not null
) strict, without rowid;
create index sts_policies_checked on sts_policies (checked_at);
create index sts_policies_expires on sts_policies (expires_at);

create table tls_results (
  day text not null,
  domain text not null,
  policy_key text not null,
  result text not null,
  source_ip text not null,
  mx_host text not null,
  mx_ip text not null,
  policy text not null,
  reason text not null,
  sessions integer not null,
  primary key (day, domain, policy_key, result, source_ip, mx_host, mx_ip)
) strict, without rowid;

create table tls_reports (
  day text not null,
  domain text not null,
  state text not null check (state in ('sent', 'none', 'failed')),
  note text not null,
  at integer not null,
  primary key (day, domain)
) strict, without rowid;

-- The appliance itself

-- This database is one node's. Sources belong to a node, and an owner of leases is a run of a node.
create table nodes (
  id text primary key not null,
  created_at integer not null
) strict, without rowid;

-- What runs once, however many nodes there are.
create table duties (
  name text primary key not null,
  owner text not null,
  term integer not null,
  until integer not null
) strict, without rowid;

create table secrets (
  name text primary key,
  value blob not null,
  created_at integer not null
) strict, without rowid;

create table master_key (
  only integer primary key check (only = 1),
  id text not null check (length(id) = 16),
  sealed_at integer not null,
  cleaned_at integer
) strict;

create table migrations (
  number integer primary key,
  name text not null,
  checksum text not null,
  applied_at integer not null
) strict;

-- What follows from a change

create trigger totp_factors_sealed_insert before insert on totp_factors
when substr(new.secret, 1, 26) <> (select cast('sealed:1:' || id || ':' as blob) from master_key)
begin select raise(abort, 'not sealed with the present master key'); end;

create trigger totp_factors_sealed_update before update of secret on totp_factors
when substr(new.secret, 1, 26) <> (select cast('sealed:1:' || id || ':' as blob) from master_key)
begin select raise(abort, 'not sealed with the present master key'); end;

create trigger dkim_keys_sealed_insert before insert on dkim_keys
when length(new.private_key) > 0
  and substr(new.private_key, 1, 26) <> (select cast('sealed:1:' || id || ':' as blob) from master_key)
begin select raise(abort, 'not sealed with the present master key'); end;

create trigger dkim_keys_sealed_update before update of private_key on dkim_keys
when length(new.private_key) > 0
  and substr(new.private_key, 1, 26) <> (select cast('sealed:1:' || id || ':' as blob) from master_key)
begin select raise(abort, 'not sealed with the present master key'); end;

create trigger deliveries_suppressed after insert on deliveries
when new.state = 'suppressed' and exists (select 1 from domains where keep_bodies = 0)
begin
  insert or ignore into bodies_due (email_id, team_id)
  select e.id, e.team_id from emails e join domains d on d.id = e.domain_id
  where e.id = new.email_id and d.keep_bodies = 0;
end;

create trigger deliveries_ended after update of state on deliveries
when new.expires_at is null and old.expires_at is not null and exists (select 1 from domains where keep_bodies = 0)
begin
  insert or ignore into bodies_due (email_id, team_id)
  select e.id, e.team_id from emails e join domains d on d.id = e.domain_id
  where e.id = old.email_id and d.keep_bodies = 0
    and not exists (select 1 from deliveries where email_id = old.email_id and expires_at is not null);
end;

create trigger returned_messages_added after insert on returned_messages
begin
  insert into returned_use (team_id, bytes) values (new.team_id, 1024 + coalesce(length(new.body), 0))
  on conflict (team_id) do update set bytes = bytes + excluded.bytes;
end;

create trigger returned_messages_removed after delete on returned_messages
begin
  update returned_use set bytes = bytes - 1024 - coalesce(length(old.body), 0) where team_id = old.team_id;
end;

create trigger events_deleted after delete on events when old.counted != '' begin
  insert into metrics_kept (team_id, at) values (old.team_id, old.created_at / 900000 * 900000)
    on conflict do nothing;
end;

create trigger metrics_inserted after insert on metrics
when new.at < (select until from metrics_summed where team_id = new.team_id) begin
  insert into metrics_late values (new.team_id, new.at, new.domain_id, new.counter, new.provider, new.n);
end;

create trigger metrics_raised after update of n on metrics
when new.at < (select until from metrics_summed where team_id = new.team_id) begin
  insert into metrics_late values (new.team_id, new.at, new.domain_id, new.counter, new.provider, new.n - old.n);
end;

create trigger metrics_deleted after delete on metrics
when old.at < (select until from metrics_summed where team_id = old.team_id) begin
  insert into metrics_late values (old.team_id, old.at, old.domain_id, old.counter, old.provider, -old.n);
end;

create trigger metrics_late_added instead of insert on metrics_late begin
  insert into metrics_sums (team_id, dimension, length, at, value, counter, n)
    select new.team_id, dimension, length, at, value, new.counter, new.n from (
      select 'all' as dimension, 3600000 as length, new.at / 3600000 * 3600000 as at, '' as value
      union all select 'all', 86400000, new.at / 86400000 * 86400000, ''
      union all select 'all', 604800000, (new.at + 259200000) / 604800000 * 604800000 - 259200000, ''
      union all select 'domain', 86400000, new.at / 86400000 * 86400000, new.domain_id
      union all select 'domain', 604800000, (new.at + 259200000) / 604800000 * 604800000 - 259200000, new.domain_id
      union all select 'provider', 3600000, new.at / 3600000 * 3600000, new.provider
      union all select 'provider', 86400000, new.at / 86400000 * 86400000, new.provider
      union all select 'provider', 604800000, (new.at + 259200000) / 604800000 * 604800000 - 259200000, new.provider
    ) where at + length <= (select until from metrics_summed where team_id = new.team_id)
    on conflict do update set n = n + excluded.n;
end;

create trigger webhooks_sealed_insert before insert on webhooks
when substr(new.secret, 1, 26) <> (select 'sealed:1:' || id || ':' from master_key)
  or substr(new.old_secret, 1, 26) <> (select 'sealed:1:' || id || ':' from master_key)
begin select raise(abort, 'not sealed with the present master key'); end;

create trigger webhooks_sealed_update before update of secret, old_secret on webhooks
when substr(new.secret, 1, 26) <> (select 'sealed:1:' || id || ':' from master_key)
  or substr(new.old_secret, 1, 26) <> (select 'sealed:1:' || id || ':' from master_key)
begin select raise(abort, 'not sealed with the present master key'); end;

create trigger secrets_sealed_insert before insert on secrets
when new.name <> 'erasures'
  and substr(new.value, 1, 26) <> (select cast('sealed:1:' || id || ':' as blob) from master_key)
begin select raise(abort, 'not sealed with the present master key'); end;

create trigger secrets_sealed_update before update of value on secrets
when new.name <> 'erasures'
  and substr(new.value, 1, 26) <> (select cast('sealed:1:' || id || ':' as blob) from master_key)
begin select raise(abort, 'not sealed with the present master key'); end;

-- The key under which erased addresses are remembered, the id of the node, and where readers of events begin.
insert into secrets (name, value, created_at) values ('erasures', randomblob(32), 0);
insert into nodes (id, created_at) values (lower(hex(randomblob(8))), 0);
insert into cursors (name, seq) values ('webhooks', 0), ('tags', 0);
