-- Applied once and never edited: its checksum is stored in every database.

create table migrations (
  number integer primary key,
  name text not null,
  checksum text not null,
  applied_at integer not null
) strict;

create table teams (
  id text primary key,
  name text not null,
  created_at integer not null
) strict, without rowid;

create table users (
  id text primary key,
  email text not null,
  email_key text not null unique,
  password_hash text not null,
  created_at integer not null
) strict, without rowid;

create table members (
  team_id text not null references teams (id) on delete cascade,
  user_id text not null references users (id) on delete cascade,
  role text not null check (role in ('owner')),
  created_at integer not null,
  primary key (team_id, user_id)
) strict, without rowid;

create index members_user on members (user_id);

create table sessions (
  token_hash text primary key,
  team_id text not null references teams (id) on delete cascade,
  user_id text not null references users (id) on delete cascade,
  created_at integer not null,
  expires_at integer not null,
  ip text,
  user_agent text
) strict, without rowid;

create index sessions_expiry on sessions (expires_at);

-- A name belongs to one team of the appliance: unique without the team.
create table domains (
  id text primary key,
  team_id text not null references teams (id) on delete cascade,
  name text not null unique,
  status text not null,
  region text not null,
  return_path text not null,
  checks text not null,
  created_at integer not null,
  checked_at integer
) strict, without rowid;

create index domains_team on domains (team_id, id);

create table dkim_keys (
  id text primary key,
  team_id text not null references teams (id) on delete cascade,
  domain_id text not null references domains (id) on delete cascade,
  selector text not null,
  algorithm text not null,
  private_key blob not null,
  public_key text not null,
  created_at integer not null
) strict;

create index dkim_keys_domain on dkim_keys (domain_id, id);

-- A key that was restricted to a domain goes with it: without the restriction it could send as any domain.
create table api_keys (
  id text primary key,
  team_id text not null references teams (id) on delete cascade,
  name text not null,
  permission text not null check (permission in ('full_access', 'sending_access')),
  domain_id text references domains (id) on delete cascade,
  token_hash text not null unique,
  created_at integer not null,
  last_used_at integer
) strict, without rowid;

create index api_keys_team on api_keys (team_id, id);
create index api_keys_domain on api_keys (domain_id) where domain_id is not null;

-- domain_id and api_key_id refer to nothing: an email outlives the domain and the key it was sent with.
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
  created_at integer not null
) strict;

create index emails_team on emails (team_id, id);

create table contents (
  email_id text primary key references emails (id) on delete cascade,
  team_id text not null,
  html text,
  text text
) strict;

create table messages (
  email_id text primary key references emails (id) on delete cascade,
  team_id text not null,
  body blob
) strict;

-- Cold: one row for each recipient, kept.
create table recipients (
  id text primary key,
  team_id text not null,
  email_id text not null references emails (id) on delete cascade,
  recipient text not null,
  field text not null check (field in ('to', 'cc', 'bcc')),
  lane text not null,
  state text not null,
  attempts integer not null,
  cause text,
  created_at integer not null,
  updated_at integer not null
) strict;

create index recipients_email on recipients (email_id, id);

-- Hot: small rows of what waits, deleted when final.
create table deliveries (
  id text primary key references recipients (id) on delete cascade,
  team_id text not null,
  email_id text not null,
  lane text not null,
  domain text not null,
  due_at integer not null,
  lease_owner text,
  lease_until integer,
  held integer not null check (held in (0, 1)),
  attempts integer not null,
  created_at integer not null,
  expires_at integer not null
) strict, without rowid;

-- lease_until is in the indexes so that looking for work reads no row that it does not take.
create index deliveries_lane on deliveries (lane, due_at, lease_until) where held = 0;
create index deliveries_due on deliveries (due_at, lane, lease_until) where held = 0;
create index deliveries_email on deliveries (email_id);

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

-- autoincrement: a number is never used twice, so a consumer's cursor stays right when old events are deleted.
create table events (
  seq integer primary key autoincrement,
  id text not null unique,
  team_id text not null,
  email_id text not null references emails (id) on delete cascade,
  delivery_id text,
  type text not null,
  created_at integer not null,
  data text not null
) strict;

create index events_email on events (email_id, seq);
