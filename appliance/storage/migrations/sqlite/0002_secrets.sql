-- Applied once and never edited: its checksum is stored in every database.

-- Keys of the appliance itself, by purpose; made when first asked for.
create table secrets (
  name text primary key,
  value blob not null,
  created_at integer not null
) strict, without rowid;
