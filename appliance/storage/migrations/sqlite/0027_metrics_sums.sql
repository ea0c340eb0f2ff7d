-- Sums of the roll-ups of days that are over, so that months are not added up from quarters of an hour. They are made a day at a
-- time (sumMetricsUp), and of a team they are complete before `until`, a midnight of UTC. What is counted after that under an
-- earlier time is added to them by the triggers below, in the same transaction.
create table metrics_summed (
  team_id text primary key,
  until integer not null
) strict, without rowid;

-- `dimension` says what `value` is: 'all' (empty), 'domain' or 'provider'. `length` is in milliseconds: an hour, a day, a week
-- from Monday. There are no hours of domains: they would be as many as the quarters.
create table metrics_sums (
  team_id text not null,
  dimension text not null,
  length integer not null,
  at integer not null,
  value text not null,
  counter text not null,
  n integer not null,
  primary key (team_id, dimension, length, at, value, counter)
) strict, without rowid;

-- What is inserted here is added to the sums that it belongs to. A week is made when its last day is: nothing is added to it before.
create view metrics_late as select team_id, at, domain_id, counter, provider, n from metrics where false;

create trigger metrics_late_added instead of insert on metrics_late begin
  insert into metrics_sums (team_id, dimension, length, at, value, counter, n)
    select new.team_id, dimension, length, at, value, new.counter, new.n from (
      select 'all' as dimension, 3600000 as length, new.at / 3600000 * 3600000 as at, '' as value
      union all select 'all', 86400000, new.at / 86400000 * 86400000, ''
      union all select 'all', 604800000, (new.at + 259200000) / 604800000 * 604800000 - 259200000, ''
      union all select 'domain', 86400000, new.at / 86400000 * 86400000, new.domain_id
      union all select 'domain', 604800000, (new.at + 259200000) / 604800000 * 604800000 - 259200000, new.domain_id
      union all select 'provider', 3600000, new.at / 3600000 * 3600000, new.provider
      union all select 'provider', 86400000, new.at / 86400000 * 86400000, new.provider
      union all select 'provider', 604800000, (new.at + 259200000) / 604800000 * 604800000 - 259200000, new.provider
    ) where at + length <= (select until from metrics_summed where team_id = new.team_id)
    on conflict do update set n = n + excluded.n;
end;

create trigger metrics_inserted after insert on metrics
when new.at < (select until from metrics_summed where team_id = new.team_id) begin
  insert into metrics_late values (new.team_id, new.at, new.domain_id, new.counter, new.provider, new.n);
end;

create trigger metrics_raised after update of n on metrics
when new.at < (select until from metrics_summed where team_id = new.team_id) begin
  insert into metrics_late values (new.team_id, new.at, new.domain_id, new.counter, new.provider, new.n - old.n);
end;

create trigger metrics_deleted after delete on metrics
when old.at < (select until from metrics_summed where team_id = old.team_id) begin
  insert into metrics_late values (old.team_id, old.at, old.domain_id, old.counter, old.provider, -old.n);
end;
