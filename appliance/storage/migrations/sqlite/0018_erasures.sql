-- Erasing one person's data by address.

-- What hashes of erased addresses are keyed with: made here, so that every look at the suppression list finds it.
insert into secrets (name, value, created_at) values ('erasures', randomblob(32), 0) on conflict do nothing;

-- An erasure is its own receipt. address is there while the work goes on, and null from then on. phase and after: where the
-- next step begins. files: messages whose rows the last step removed, and whose files may still be there.
create table erasures (
  id text primary key not null,
  team_id text not null references teams (id) on delete cascade,
  address text,
  hash text not null,
  actor text not null,
  actor_kind text not null,
  created_at integer not null,
  finished_at integer,
  phase text not null,
  after text not null,
  counts text not null,
  files text not null
) strict, without rowid;

create index erasures_team on erasures (team_id, id);
create index erasures_unfinished on erasures (id) where finished_at is null;

-- 1: the body goes because of an erasure as soon as the email is final; such a row waits until then.
alter table bodies_due add column erased integer not null default 0 check (erased in (0, 1));
