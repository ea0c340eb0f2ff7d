-- Plans are defined in config/plans.toml; here is only the name.
alter table teams add column plan text not null default 'unlimited';

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

-- One row for each UTC day and one for each UTC month in which a team sent: '2026-11-20', '2026-11'.
create table quotas (
  team_id text not null references teams (id) on delete cascade,
  period text not null,
  used integer not null,
  primary key (team_id, period)
) strict, without rowid;
