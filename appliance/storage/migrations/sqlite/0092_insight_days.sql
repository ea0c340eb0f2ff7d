-- How many sent emails of a domain failed each check of their content and sender, by UTC day. `check_id` is empty for all that were checked.
create table insight_days (
  team_id text not null references teams (id) on delete cascade,
  domain_id text not null,
  day text not null,
  check_id text not null,
  n integer not null,
  primary key (team_id, domain_id, day, check_id)
) strict, without rowid;
create index insight_days_day on insight_days (day);

-- Only what is sent from now on is checked.
insert into cursors (name, seq) select 'insights', coalesce(max(seq), 0) from events;
