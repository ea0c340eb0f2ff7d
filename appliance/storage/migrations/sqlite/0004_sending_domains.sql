-- What a domain is set to do. Tracking and receiving are stored because clients send them.
alter table domains add column tls text not null default 'opportunistic' check (tls in ('opportunistic', 'enforced'));
alter table domains add column sending integer not null default 1 check (sending in (0, 1));
alter table domains add column receiving integer not null default 0 check (receiving in (0, 1));
alter table domains add column open_tracking integer not null default 0 check (open_tracking in (0, 1));
alter table domains add column click_tracking integer not null default 0 check (click_tracking in (0, 1));
alter table domains add column tracking_subdomain text;

-- The background verification: since when the status holds, when a verification is given up, which worse status is
-- suspected since when, and when the records are looked at next (null: never by itself).
alter table domains add column status_since integer;
alter table domains add column verify_until integer;
alter table domains add column suspect text;
alter table domains add column suspect_since integer;
alter table domains add column next_check_at integer;

update domains set status_since = coalesce(checked_at, created_at);
update domains set next_check_at = coalesce(checked_at, created_at) + 86400000 where status = 'verified';
create index domains_due on domains (next_check_at) where next_check_at is not null;

-- pending: waits for its record · active: signs · retiring: its record is still needed · retired: its record may go.
alter table dkim_keys add column state text not null default 'active'
  check (state in ('pending', 'active', 'retiring', 'retired'));
alter table dkim_keys add column state_since integer;
alter table dkim_keys add column retire_at integer;
update dkim_keys set state_since = created_at;
create unique index dkim_keys_selector on dkim_keys (domain_id, selector);

-- address is what makes two spellings one: the whole address in lower case, the domain in A-labels.
create table suppressions (
  id text primary key,
  team_id text not null references teams (id) on delete cascade,
  address text not null,
  email text not null,
  origin text not null check (origin in ('bounce', 'complaint', 'manual')),
  source_id text,
  created_at integer not null,
  unique (team_id, address)
) strict, without rowid;

create index suppressions_team on suppressions (team_id, id);
