-- Files of contacts. The files themselves are in the data directory, in UTF-8, as `imports/<id>.csv`; they go when the import ends.

-- `draft`: uploaded to be previewed. `columns`: JSON, the first line. `settings`: JSON, what becomes of the columns; null for a draft.
-- `source`: the API key or user. `processed` (bytes) and `line` say where the next transaction goes on: they change in the transaction
-- that writes the rows. `turn_at`: when its turn ended; teams take turns.
create table contact_imports (
  id text primary key not null,
  team_id text not null references teams (id) on delete cascade,
  status text not null check (status in ('draft', 'queued', 'in_progress', 'completed', 'failed')),
  source text,
  file_name text not null,
  file_sha256 text not null,
  bytes integer not null,
  encoding text not null,
  separator text not null,
  columns text not null,
  settings text,
  on_conflict text not null check (on_conflict in ('upsert', 'skip')),
  processed integer not null,
  line integer not null,
  total integer not null default 0,
  created integer not null default 0,
  updated integer not null default 0,
  skipped integer not null default 0,
  failed integer not null default 0,
  duplicates integer not null default 0,
  kept integer not null default 0,
  rejects integer not null default 0,
  error text,
  turn_at integer not null,
  created_at integer not null,
  completed_at integer
) strict;
create index contact_imports_team on contact_imports (team_id, id);
create index contact_imports_open on contact_imports (status, turn_at) where status in ('draft', 'queued', 'in_progress');

-- Rows that could not be read. `cells`: JSON.
create table contact_import_rejects (
  import_id text not null references contact_imports (id) on delete cascade,
  team_id text not null,
  line integer not null,
  reason text not null,
  cells text not null,
  primary key (import_id, line)
) strict, without rowid;
