-- What became of broadcasts, by quarter of an hour: written with the events, like the table metrics. `at`: start of the quarter.

create table metrics_broadcasts (
  team_id text not null,
  at integer not null,
  broadcast_id text not null,
  domain_id text not null,
  counter text not null,
  n integer not null,
  primary key (team_id, at, broadcast_id, domain_id, counter)
) strict, without rowid;
