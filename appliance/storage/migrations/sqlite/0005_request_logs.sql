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
  created_at integer not null
) strict;

create index request_logs_team on request_logs (team_id, id);
create index request_logs_age on request_logs (created_at);

-- The emails that a request made: one for most, up to a hundred for a batch.
create table request_log_emails (
  log_id text not null references request_logs (id) on delete cascade,
  email_id text not null,
  team_id text not null,
  primary key (log_id, email_id)
) strict, without rowid;

create index request_log_emails_email on request_log_emails (email_id);
