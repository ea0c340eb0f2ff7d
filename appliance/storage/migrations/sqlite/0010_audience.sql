-- Contacts, the segments they belong to, the topics they chose, and the log of what they agreed to.

-- `address_key`: what makes two addresses one. `properties`: JSON, values by the label of their property. `unsubscribed_at`: opted out of
-- everything. `created_from`: the API key, user or import that added it.
create table contacts (
  id text not null,
  team_id text not null references teams (id) on delete cascade,
  email text not null,
  address_key text not null,
  first_name text,
  last_name text,
  properties text not null,
  unsubscribed_at integer,
  unsubscribed_by text check (unsubscribed_by in ('person', 'api', 'import', 'complaint', 'operator')),
  created_by text not null check (created_by in ('person', 'api', 'import', 'complaint', 'operator')),
  created_from text,
  created_at integer not null,
  updated_at integer not null,
  primary key (team_id, id),
  check ((unsubscribed_at is null) = (unsubscribed_by is null))
) strict;
create unique index contacts_address on contacts (team_id, address_key);
create index contacts_unsubscribed on contacts (team_id, id) where unsubscribed_at is not null;

-- Values of a deleted property stay in `contacts.properties` under a label that no property has any more.
-- `fallback`: JSON, a string or a number.
create table contact_properties (
  id text primary key not null,
  team_id text not null references teams (id) on delete cascade,
  key text not null,
  label text not null,
  type text not null check (type in ('string', 'number')),
  fallback text,
  created_at integer not null,
  unique (team_id, key),
  unique (team_id, label)
) strict;

-- A deleted segment is hidden at once; its memberships are removed in steps, and the row after them. The same holds for topics.
-- `filter`: JSON, the rules of a segment that has no members of its own.
create table segments (
  id text primary key not null,
  team_id text not null references teams (id) on delete cascade,
  name text not null,
  filter text,
  created_at integer not null,
  updated_at integer not null,
  deleted_at integer
) strict;
create index segments_team on segments (team_id, id);
create index segments_deleted on segments (id) where deleted_at is not null;

create table contact_segments (
  segment_id text not null,
  contact_id text not null,
  team_id text not null,
  added_at integer not null,
  primary key (segment_id, contact_id)
) strict, without rowid;
create index contact_segments_contact on contact_segments (contact_id, segment_id);

create table topics (
  id text primary key not null,
  team_id text not null references teams (id) on delete cascade,
  name text not null,
  description text,
  default_subscription text not null check (default_subscription in ('opt_in', 'opt_out')),
  visibility text not null check (visibility in ('public', 'private')),
  created_at integer not null,
  updated_at integer not null,
  deleted_at integer
) strict;
create index topics_team on topics (team_id, id);
create index topics_deleted on topics (id) where deleted_at is not null;

-- Explicit choices only; without one, the default of the topic applies.
create table contact_topics (
  topic_id text not null,
  contact_id text not null,
  team_id text not null,
  subscription text not null check (subscription in ('opt_in', 'opt_out')),
  origin text not null check (origin in ('person', 'api', 'import', 'complaint', 'operator')),
  changed_at integer not null,
  primary key (topic_id, contact_id)
) strict, without rowid;
create index contact_topics_contact on contact_topics (contact_id, topic_id);

-- Opt-outs of contacts that were deleted or erased, or had another address. `scope`: a topic, or empty for everything.
create table opt_outs (
  team_id text not null references teams (id) on delete cascade,
  address_hash text not null,
  scope text not null,
  origin text not null check (origin in ('person', 'api', 'import', 'complaint', 'operator')),
  at integer not null,
  primary key (team_id, address_hash, scope)
) strict, without rowid;

-- Append-only: every change of a subscription. The hash is filled in when the contact is deleted, so that the log can still be found by
-- address. Erasure removes IP and user agent.
create table consents (
  id text not null,
  team_id text not null references teams (id) on delete cascade,
  contact_id text not null,
  address_hash text,
  scope text not null,
  was text check (was in ('opt_in', 'opt_out')),
  subscription text not null check (subscription in ('opt_in', 'opt_out')),
  origin text not null check (origin in ('person', 'api', 'import', 'complaint', 'operator')),
  via text not null,
  source text,
  ip text,
  user_agent text,
  wording text,
  at integer not null,
  primary key (team_id, contact_id, id)
) strict;
create index consents_hash on consents (team_id, address_hash) where address_hash is not null;

-- Sizes: counting a million rows takes a tenth of a second. `noun`: contacts, unsubscribed, segment, opt_in, opt_out; `subject`: the id of the
-- segment or topic, or empty.
create table audience_counts (
  team_id text not null references teams (id) on delete cascade,
  noun text not null,
  subject text not null,
  n integer not null,
  primary key (team_id, noun, subject)
) strict, without rowid;
