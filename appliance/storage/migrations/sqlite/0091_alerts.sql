-- Alerts, open and past. `scope` server: about all mail of the server, for the team that runs it. `subject_id` is empty for the queue and all mail.
-- `value` and `value_limit` are millionths. `calm_since`: since when the value is low enough to close. `muted`: its team isn't notified. `mail_opened`, `mail_closed`: whether owners are still to
-- get an email. `mailed_at`: when they got the last one.
create table alerts (
  id text primary key not null,
  team_id text not null references teams (id) on delete cascade,
  scope text not null check (scope in ('team', 'server')),
  kind text not null,
  subject_type text not null,
  subject_id text not null,
  subject_name text not null,
  note text not null,
  value integer not null,
  value_limit integer,
  opened_at integer not null,
  calm_since integer,
  closed_at integer,
  muted integer not null check (muted in (0, 1)),
  mail_opened text not null check (mail_opened in ('off', 'due', 'done')),
  mail_closed text not null check (mail_closed in ('off', 'due', 'done')),
  mailed_at integer
) strict;
create index alerts_team on alerts (team_id, id);
-- One open alert about a thing.
create unique index alerts_open on alerts (team_id, scope, kind, subject_type, subject_id) where closed_at is null;
create index alerts_mail on alerts (team_id) where mail_opened = 'due' or mail_closed = 'due';
create index alerts_mailed on alerts (team_id, mailed_at) where mailed_at is not null;
create index alerts_closed on alerts (closed_at) where closed_at is not null;

-- What a team wants to be notified of; none: everything. `muted`: kinds, separated by spaces.
create table alert_settings (
  team_id text primary key not null references teams (id) on delete cascade,
  email integer not null check (email in (0, 1)),
  muted text not null
) strict;
