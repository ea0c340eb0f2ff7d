-- Numbers by tag: roll-ups that a reader of the events makes behind the mail (addTagCounts), so that recording an event costs no more
-- for them. How far it has read is a cursor; it begins with the events from before.
insert into cursors (name, seq) values ('tags', 0);

-- Quarters of an hour. `tag` is `name:value`, or empty: those beyond the tags that are told apart on a day of UTC.
create table metrics_tags (
  team_id text not null,
  at integer not null,
  domain_id text not null,
  provider text not null,
  tag text not null,
  counter text not null,
  n integer not null,
  primary key (team_id, at, domain_id, provider, tag, counter)
) strict, without rowid;

-- The same of whole days of UTC, also of the day that is not over. `dimension` says what `value` is: 'all' (empty), 'domain' or 'provider'.
create table metrics_tags_days (
  team_id text not null,
  dimension text not null,
  at integer not null,
  value text not null,
  tag text not null,
  counter text not null,
  n integer not null,
  primary key (team_id, dimension, at, value, tag, counter)
) strict, without rowid;
