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

-- One row for each recipient, whether it waits or not: two tables had eight B-trees between them. Two are for ever, in the order of the
-- emails; four partial indexes hold what waits, and nothing else. A final delivery has null in the columns of the queue. With a rowid: rows
-- of some 400 bytes make a deep tree in an index, and the indexes would have both ids in each entry (docs/decisions/0023-lean-rows.md).
create table recipients_and_deliveries (
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
insert into recipients_and_deliveries
  select r.email_id, r.id, r.team_id, r.recipient, r.field, coalesce(d.pool, r.pool), coalesce(d.provider, r.provider),
    case when d.held = 1 then 'held' when d.id is null and r.state = 'waiting' then 'failed' else r.state end,
    coalesce(d.attempts, r.attempts), r.created_at, r.updated_at, d.queue, d.stream, d.domain, d.due_at, d.expires_at, d.lease_owner,
    d.lease_until, d.touched_by, d.pool_before, r.notify, r.orcpt, r.cause
  from recipients r left join deliveries d on d.id = r.id
  order by r.email_id, r.id;

-- Found by the email, with which they go. The second index: what is due.
create table reports_of_emails (
  email_id text not null references emails (id) on delete cascade,
  delivery_id text not null,
  kind text not null check (kind in ('failed', 'delayed', 'relayed')),
  team_id text not null,
  created_at integer not null,
  done_at integer,
  report_id text,
  primary key (email_id, delivery_id, kind)
) strict, without rowid;
insert into reports_of_emails
  select email_id, delivery_id, kind, team_id, created_at, done_at, report_id from reports order by email_id, delivery_id, kind;

drop table reports;
drop table deliveries;
drop table recipients;
alter table reports_of_emails rename to reports;
alter table recipients_and_deliveries rename to deliveries;
create index reports_due on reports (email_id, kind) where done_at is null;
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
