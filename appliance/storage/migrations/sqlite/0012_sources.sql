-- The addresses that mail leaves from; 'auto' is the system's choice. They are the appliance's, of no team.
create table sources (
  ip text primary key,
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

-- Which mail uses which pool; null is any. Removed with the team or the domain.
create table pool_assignments (
  id text primary key,
  team_id text references teams (id) on delete cascade,
  domain_id text references domains (id) on delete cascade,
  stream text check (stream in ('transactional', 'broadcast')),
  pool text not null
) strict, without rowid;

create unique index pool_assignments_about
  on pool_assignments (coalesce(team_id, ''), coalesce(domain_id, ''), coalesce(stream, ''));
create index pool_assignments_team on pool_assignments (team_id);
create index pool_assignments_domain on pool_assignments (domain_id);
