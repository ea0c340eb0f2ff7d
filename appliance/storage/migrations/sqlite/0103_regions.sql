-- Regions. `pool_regions`: pools that have one. `region_failovers`: regions whose nodes are all lost, and where their mail
-- goes meanwhile; `audit_id`: the audit entry, which the moved deliveries name.
create table pool_regions (
  pool text primary key,
  region text not null
) strict, without rowid;

create table region_failovers (
  region text primary key,
  target text not null,
  since integer not null,
  audit_id text not null,
  check (region <> target)
) strict, without rowid;
