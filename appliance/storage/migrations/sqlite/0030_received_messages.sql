-- Mail that port 25 takes from clients that have not signed in. None of it is verified, so none of it changes an email, a delivery or
-- the suppression list.

-- What came to the return path of an email. body is null where the content of the email is not kept.
create table returned_messages (
  id text primary key not null,
  team_id text not null references teams (id) on delete cascade,
  email_id text not null references emails (id) on delete cascade,
  received_at integer not null,
  mail_from text not null,
  rcpt_to text not null,
  ip text not null,
  helo text not null,
  tls text,
  size integer not null,
  body blob
) strict;

create index returned_messages_email on returned_messages (email_id, id);
create index returned_messages_team on returned_messages (team_id, id);

-- Bytes that the returned messages of each team take up, so that the limits need no sum over all of them.
create table returned_use (
  team_id text primary key not null references teams (id) on delete cascade,
  bytes integer not null
) strict, without rowid;

-- A row costs something even without a body: 1024 bytes. Triggers, so that retention and erasures are counted too.
create trigger returned_messages_added after insert on returned_messages
begin
  insert into returned_use (team_id, bytes) values (new.team_id, 1024 + coalesce(length(new.body), 0))
  on conflict (team_id) do update set bytes = bytes + excluded.bytes;
end;

create trigger returned_messages_removed after delete on returned_messages
begin
  update returned_use set bytes = bytes - 1024 - coalesce(length(old.body), 0) where team_id = old.team_id;
end;

-- What came to postmaster and abuse. forward: 'off' (kept only), 'due', 'done' (forwarded_as is the email) or 'skipped' (reason says why).
create table postmaster_messages (
  id text primary key not null,
  received_at integer not null,
  mail_from text not null,
  rcpt_to text not null,
  ip text not null,
  helo text not null,
  tls text,
  size integer not null,
  body blob not null,
  forward text not null check (forward in ('off', 'due', 'done', 'skipped')),
  forwarded_as text,
  reason text
) strict;

create index postmaster_messages_due on postmaster_messages (id) where forward = 'due';
