-- Several teams may add the same name; one of them, the first to verify it, holds it. Until now a name belonged to whoever added it first.
-- The table is made anew without its old constraint, under its own name, as triggers and foreign keys refer to it. Dropping it
-- deletes what refers to its rows, which is put back.

create temp table old_domains as select * from domains;
create temp table old_dkim_keys as select * from dkim_keys;
create temp table old_api_keys as select * from api_keys where domain_id is not null;
create temp table old_pool_assignments as select * from pool_assignments where domain_id is not null;

drop table domains;

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

insert into domains (
  id, team_id, name, status, region, return_path, checks, created_at, checked_at, tls, sending, receiving, open_tracking,
  click_tracking, tracking_subdomain, status_since, verify_until, suspect, suspect_since, next_check_at, keep_bodies
) select
  id, team_id, name, status, region, return_path, checks, created_at, checked_at, tls, sending, receiving, open_tracking,
  click_tracking, tracking_subdomain, status_since, verify_until, suspect, suspect_since, next_check_at, keep_bodies
from temp.old_domains;
insert into dkim_keys (
  id, team_id, domain_id, selector, algorithm, private_key, public_key, created_at, state, state_since, retire_at
) select
  id, team_id, domain_id, selector, algorithm, private_key, public_key, created_at, state, state_since, retire_at
from temp.old_dkim_keys;
insert into api_keys (
  id, team_id, name, permission, domain_id, token_hash, created_at, last_used_at, prefix
) select
  id, team_id, name, permission, domain_id, token_hash, created_at, last_used_at, prefix
from temp.old_api_keys;
insert into pool_assignments (id, team_id, domain_id, stream, pool)
select id, team_id, domain_id, stream, pool from temp.old_pool_assignments;

drop table temp.old_domains;
drop table temp.old_dkim_keys;
drop table temp.old_api_keys;
drop table temp.old_pool_assignments;
