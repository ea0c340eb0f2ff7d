-- The size of segments by day, in UTC.
create table segment_days (
  segment_id text not null references segments (id) on delete cascade,
  day text not null,
  contacts integer not null,
  primary key (segment_id, day)
) strict, without rowid;
create index segment_days_day on segment_days (day);
