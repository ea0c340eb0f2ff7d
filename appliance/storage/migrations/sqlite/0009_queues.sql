-- Deliveries wait in queues (pool/provider/stream/team), grouped by the mailbox provider behind the domain.

-- The provider of each recipient domain that was looked up.
create table destinations (
  domain text primary key,
  provider text not null,
  placed_at integer not null
) strict, without rowid;

alter table deliveries rename to deliveries_before;
drop index deliveries_lane;
drop index deliveries_due;
drop index deliveries_email;

create table deliveries (
  id text primary key references recipients (id) on delete cascade,
  team_id text not null,
  email_id text not null,
  queue text not null,
  pool text not null,
  provider text not null,
  stream text not null check (stream in ('transactional', 'broadcast')),
  domain text not null,
  due_at integer not null,
  lease_owner text,
  lease_until integer,
  held integer not null check (held in (0, 1)),
  attempts integer not null,
  created_at integer not null,
  expires_at integer not null
) strict, without rowid;

-- A domain that was never looked up is its own provider, written ?example.com.
insert into deliveries
select id, team_id, email_id, 'default/?' || domain || '/t/' || team_id, 'default', '?' || domain, 'transactional', domain,
  due_at, lease_owner, lease_until, held, attempts, created_at, expires_at
from deliveries_before;

drop table deliveries_before;

-- lease_until is in the indexes so that looking for work reads no row that it does not take.
create index deliveries_queue on deliveries (queue, due_at, lease_until) where held = 0;
create index deliveries_due on deliveries (stream, due_at, queue, lease_until) where held = 0;
create index deliveries_email on deliveries (email_id);
create index deliveries_domain on deliveries (domain);

alter table recipients rename column lane to provider;
alter table recipients add column pool text not null default 'default';
update recipients set provider = '?' || provider;

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

create table provider_settings (
  provider text primary key,
  settings text not null,
  updated_at integer not null
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
