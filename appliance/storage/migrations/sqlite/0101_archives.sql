-- Public archives of broadcasts. `settings`: JSON (mail/archive.ts). `slug`: part of the URL; null: it was never enabled.
create table archives (
  team_id text primary key not null references teams (id) on delete cascade,
  slug text unique,
  settings text not null,
  updated_at integer not null
) strict;

-- When a broadcast was published in the archive; null: it isn't. Only started ones have a page.
alter table broadcasts add column archived_at integer;
create index broadcasts_archived on broadcasts (team_id, started_at, id) where archived_at is not null;
