-- Bounces are counted by what they were about too: counters `bounced_about_…`, of the events that are still there.
insert into metrics (team_id, at, domain_id, counter, provider, n)
  select team_id, created_at / 900000 * 900000, domain_id,
    'bounced_about_' || json_extract(data, '$.bounce.category'), provider, sum(amount)
  from events
  where type = 'email.bounced' and counted != '' and json_extract(data, '$.bounce.category') is not null
  group by 1, 2, 3, 4, 5;

update events set counted = counted || ' bounced_about_' || json_extract(data, '$.bounce.category')
  where type = 'email.bounced' and counted != '' and json_extract(data, '$.bounce.category') is not null;
