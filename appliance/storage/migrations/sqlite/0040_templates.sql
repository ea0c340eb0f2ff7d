-- Templates: content that is stored once and sent often. `current_version_id`: the content as it is edited. `published_version_id`: the
-- content that is sent; null: never published. `revision` counts the changes, so that nobody overwrites what they haven't seen.
create table templates (
  id text primary key not null,
  team_id text not null references teams (id) on delete cascade,
  name text not null,
  alias text,
  current_version_id text not null,
  published_version_id text,
  published_at integer,
  revision integer not null,
  created_at integer not null,
  updated_at integer not null,
  unique (team_id, alias)
) strict;
create index templates_team on templates (team_id, id);

-- A version is changed until it is published, then it stays as it is. `reply_to`: JSON, string[]; null: not set. `variables`: JSON.
-- `author`: what the person or API key that changed it last was called.
create table template_versions (
  id text primary key not null,
  team_id text not null,
  template_id text not null references templates (id) on delete cascade,
  from_header text,
  subject text,
  reply_to text,
  html text not null,
  text text,
  variables text not null,
  author text not null,
  created_at integer not null,
  updated_at integer not null,
  published_at integer
) strict;
create index template_versions_template on template_versions (template_id, id);

-- What an email was made from.
alter table emails add column template_id text;
alter table emails add column template_version_id text;
create index emails_template on emails (template_id, id) where template_id is not null;
