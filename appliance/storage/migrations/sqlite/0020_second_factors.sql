-- Second factors of people, tickets that hold once, and what a session tells of itself.

-- id names a session without its token. proved_at: when its person last showed the password or a factor. strong: more than
-- a password stands behind it. Sessions from before were all begun with a password.
create table sessions_with_ids (
  token_hash text primary key,
  id text not null unique,
  team_id text not null references teams (id) on delete cascade,
  user_id text not null references users (id) on delete cascade,
  created_at integer not null,
  expires_at integer not null,
  last_seen_at integer not null,
  proved_at integer not null,
  method text not null,
  strong integer not null check (strong in (0, 1)),
  ip text,
  user_agent text
) strict, without rowid;

insert into sessions_with_ids
select token_hash,
  lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-8' ||
    substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6))),
  team_id, user_id, created_at, expires_at, created_at, created_at, 'password', 0, ip, user_agent
from sessions;

drop table sessions;
alter table sessions_with_ids rename to sessions;
create index sessions_expiry on sessions (expires_at);
create index sessions_user on sessions (user_id);

-- One app that shows codes for each person. confirmed_at is null until a first code came back; last_step: the time step
-- (RFC 6238) of the newest code that was taken, which no later code may have again.
create table totp_factors (
  user_id text primary key references users (id) on delete cascade,
  secret blob not null,
  created_at integer not null,
  confirmed_at integer,
  last_used_at integer,
  last_step integer not null
) strict, without rowid;

-- What is used up is removed.
create table recovery_codes (
  user_id text not null references users (id) on delete cascade,
  code_hash text not null,
  created_at integer not null,
  primary key (user_id, code_hash)
) strict, without rowid;

-- rp_id: the host name that the browser bound it to. public_key: COSE. transports: JSON.
create table passkeys (
  id text primary key,
  user_id text not null references users (id) on delete cascade,
  credential_id text not null unique,
  rp_id text not null,
  name text not null,
  public_key blob not null,
  counter integer not null,
  transports text not null,
  synced integer not null check (synced in (0, 1)),
  created_at integer not null,
  last_used_at integer
) strict, without rowid;

create index passkeys_user on passkeys (user_id);

-- Whatever is good once and for a short time. data: JSON. attempts: wrong tries so far.
create table tickets (
  token_hash text primary key,
  kind text not null,
  user_id text references users (id) on delete cascade,
  data text not null,
  created_at integer not null,
  expires_at integer not null,
  attempts integer not null
) strict, without rowid;

create index tickets_expiry on tickets (expires_at);
create index tickets_user on tickets (user_id);
