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
