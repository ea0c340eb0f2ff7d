-- What is removed when its time is over.

-- Which messages are files, for the sum of their sizes.
create index messages_files on messages (email_id) where body is null;

-- Bytes that the appliance held on each UTC day, for the forecast.
create table disk_days (
  day text primary key not null,
  bytes integer not null
) strict, without rowid;

-- A domain whose bodies are not kept: those of its emails that are final wait in bodies_due to be removed.
alter table domains add column keep_bodies integer not null default 1 check (keep_bodies in (0, 1));
create index domains_without_bodies on domains (id) where keep_bodies = 0;

create table bodies_due (
  email_id text primary key not null references emails (id) on delete cascade,
  team_id text not null
) strict, without rowid;

-- By triggers, so that every way to a final state is covered: settled, dropped, canceled, expired. A migration that makes either
-- table anew has to make its trigger anew.
create trigger deliveries_bodies after delete on deliveries
when exists (select 1 from domains where keep_bodies = 0)
begin
  insert or ignore into bodies_due (email_id, team_id)
  select e.id, e.team_id from emails e join domains d on d.id = e.domain_id
  where e.id = old.email_id and d.keep_bodies = 0
    and not exists (select 1 from deliveries where email_id = old.email_id);
end;

-- A recipient who is suppressed has no delivery. Others of the same email may: whoever removes bodies looks.
create trigger recipients_bodies after insert on recipients
when new.state = 'suppressed' and exists (select 1 from domains where keep_bodies = 0)
begin
  insert or ignore into bodies_due (email_id, team_id)
  select e.id, e.team_id from emails e join domains d on d.id = e.domain_id
  where e.id = new.email_id and d.keep_bodies = 0;
end;
