-- What drafts of broadcasts said before. The newest version of a draft is what it says now. `content`: JSON, as in broadcasts.
-- `subject`: that of the content, for lists. `author`: the person or API key that changed it last; empty: not known.
create table broadcast_versions (
  id text primary key not null,
  team_id text not null,
  broadcast_id text not null references broadcasts (id) on delete cascade,
  subject text not null,
  content text not null,
  document text,
  author text not null,
  created_at integer not null,
  updated_at integer not null
) strict;
create index broadcast_versions_broadcast on broadcast_versions (broadcast_id, id);

-- The text of a draft from before this table is its first version.
insert into broadcast_versions (id, team_id, broadcast_id, subject, content, document, author, created_at, updated_at)
  select id, team_id, id, json_extract(content, '$.subject'), content, document, '', created_at, updated_at
  from broadcasts where status in ('draft', 'scheduled');
