-- A/B tests of broadcasts whose sending has begun; what is tested is in the content of the broadcast.
-- `revisions`: JSON, the revision of each variant. `cursor`: the last recipient that the draw looked at; `seen`: how many it looked at;
-- `tested`: how many of them it drew; `drawn_at`: it looked at all. `tried_at`: when each test email had been tried.
-- `winner`: index of the variant that the rest gets. `choice`: JSON, why, with the numbers. `counts`: JSON, results as last counted.
create table broadcast_ab_tests (
  broadcast_id text primary key not null references broadcasts (id) on delete cascade,
  revisions text not null,
  cursor text not null default '',
  seen integer not null default 0,
  tested integer not null default 0,
  drawn_at integer,
  tried_at integer,
  winner integer check (winner >= 0),
  decided_at integer,
  choice text,
  counts text,
  counted_at integer,
  check ((winner is null) = (decided_at is null))
) strict;

-- `variant`: index of the variant that a recipient of a test gets; null: no test, or the rest.
alter table broadcast_recipients add column variant integer;
create index broadcast_recipients_variant on broadcast_recipients (broadcast, bucket, contact_id) where variant is not null;
