-- Custom events: what apps tell about contacts. `schema`: JSON, the type of each field of a payload; null: any payload.
create table custom_events (
  id text primary key not null,
  team_id text not null references teams (id) on delete cascade,
  name text not null,
  schema text,
  created_at integer not null,
  updated_at integer,
  unique (team_id, name)
) strict;
create index custom_events_newest on custom_events (team_id, id);

-- Each event that an app sent. `email` and `address_key`: the person, also without a contact. `payload`: JSON.
create table sent_events (
  id text primary key not null,
  team_id text not null references teams (id) on delete cascade,
  name text not null,
  contact_id text,
  email text not null,
  address_key text not null,
  payload text not null,
  created_at integer not null
) strict;
create index sent_events_name on sent_events (team_id, name, id);
create index sent_events_address on sent_events (team_id, address_key);
create index sent_events_contact on sent_events (team_id, contact_id) where contact_id is not null;

-- How many events a team sent on a UTC day, for its limit.
create table sent_event_days (
  team_id text not null references teams (id) on delete cascade,
  day text not null,
  sent integer not null,
  primary key (team_id, day)
) strict, without rowid;
