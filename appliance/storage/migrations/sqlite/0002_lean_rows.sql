-- One row for what an email says: html and text stood in a table of their own, with two B-trees of its own. They are null where they stand in
-- the message. The small columns come first, so that reading them reads no message.
create table bodies (
  email_id text primary key references emails (id) on delete cascade,
  team_id text not null,
  content text not null check (content in ('row', 'message', 'unfinished')),
  html text,
  text text,
  body blob
) strict;
insert into bodies (email_id, team_id, content, html, text, body)
  select m.email_id, m.team_id, 'row', c.html, c.text, m.body from messages m left join contents c on c.email_id = m.email_id
  order by m.rowid;
drop table messages;
drop table contents;
alter table bodies rename to messages;
create index messages_files on messages (email_id) where body is null;

-- A request that made one email names it itself; the table is for batches.
alter table request_logs add column email_id text;
update request_logs set email_id = (select min(e.email_id) from request_log_emails e where e.log_id = request_logs.id)
  where (select count(*) from request_log_emails e where e.log_id = request_logs.id) = 1;
delete from request_log_emails where log_id in (select id from request_logs where email_id is not null);
create index request_logs_email on request_logs (email_id) where email_id is not null;

-- The ids of requests begin with their time: the oldest are found by id.
drop index request_logs_age;

-- Readers of events remember the transaction of the last one too (storage/event-cursor.ts), which is always 0 here.
alter table cursors add column xid integer not null default 0;

-- Nodes: this database is one node's. Sources belong to a node, and an owner of leases is a run of a node.
create table nodes (
  id text primary key not null,
  created_at integer not null
) strict, without rowid;
insert into nodes (id, created_at) values (lower(hex(randomblob(8))), 0);
create table sources_of_nodes (
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
insert into sources_of_nodes
  select ip, (select id from nodes), pool, hostname, state, state_reason, suspended_by, warm_up_since, origin, health, checked_at
  from sources;
drop table sources;
alter table sources_of_nodes rename to sources;
update deliveries set lease_owner = (select id from nodes) || '/' || lease_owner where lease_owner is not null;

-- Duties: what runs once, however many nodes there are.
create table duties (
  name text primary key not null,
  owner text not null,
  term integer not null,
  until integer not null
) strict, without rowid;
