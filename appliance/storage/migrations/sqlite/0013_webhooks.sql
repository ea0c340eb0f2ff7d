-- An event need not be about an email: email_id may be null.
create table events_with_others (
  seq integer primary key autoincrement,
  id text not null unique,
  team_id text not null,
  email_id text references emails (id) on delete cascade,
  delivery_id text,
  type text not null,
  created_at integer not null,
  data text not null
) strict;

insert into events_with_others (seq, id, team_id, email_id, delivery_id, type, created_at, data)
  select seq, id, team_id, email_id, delivery_id, type, created_at, data from events order by seq;

drop table events;
alter table events_with_others rename to events;
create index events_email on events (email_id, seq);
-- For a replay: what happened to a team in a range of time.
create index events_team on events (team_id, created_at, seq);

-- How far each consumer has read the events.
create table cursors (
  name text primary key not null,
  seq integer not null
) strict, without rowid;

-- Webhooks are told of what happens from now on.
insert into cursors (name, seq) select 'webhooks', coalesce(max(seq), 0) from events;

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

-- Without a foreign key: an endpoint may have a million of them, which housekeeping removes in steps.
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
