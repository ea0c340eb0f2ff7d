-- Why in a sentence, and what the server said; entries from before have neither.
alter table suppressions add column reason text;
alter table suppressions add column reply text;
-- When the address was last taken off the list before it came back; null: it never was.
alter table suppressions add column removed_at integer;

-- Addresses that were taken off the list, so that the next bounce can tell that somebody had hoped otherwise.
create table unsuppressed (
  team_id text not null references teams (id) on delete cascade,
  address text not null,
  removed_at integer not null,
  primary key (team_id, address)
) strict, without rowid;
