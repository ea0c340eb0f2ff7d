-- What an event added to the roll-ups, so that they can be made again from the events and come out the same:
-- counters with spaces between, how much each was raised, and under which domain and provider.
alter table events add column counted text not null default '';
alter table events add column amount integer not null default 1;
alter table events add column domain_id text not null default '';
alter table events add column provider text not null default '';

update events set
  counted = case
    when type = 'email.bounced' then 'bounced_' || lower(coalesce(json_extract(data, '$.bounce.type'), 'Undetermined'))
    else substr(type, 7) end,
  amount = case when type = 'email.sent' then max(1, (
    select count(*) from recipients r where r.email_id = events.email_id and r.state != 'suppressed')) else 1 end,
  domain_id = coalesce((select e.domain_id from emails e where e.id = events.email_id), ''),
  provider = coalesce((select r.provider from recipients r where r.id = events.delivery_id), '')
where email_id is not null;

-- Quarters of an hour: some time zones are 30 or 45 minutes off, and their days have to add up too.
create table metrics (
  team_id text not null,
  at integer not null,
  domain_id text not null,
  counter text not null,
  provider text not null,
  n integer not null,
  primary key (team_id, at, domain_id, counter, provider)
) strict, without rowid;

insert into metrics (team_id, at, domain_id, counter, provider, n)
  select team_id, created_at / 900000 * 900000, domain_id, counted, provider, sum(amount)
  from events where counted != '' group by 1, 2, 3, 4, 5;

-- Quarters of which events were deleted with their emails: the roll-ups know more than the events do.
create table metrics_kept (
  team_id text not null,
  at integer not null,
  primary key (team_id, at)
) strict, without rowid;

create trigger events_deleted after delete on events when old.counted != '' begin
  insert into metrics_kept (team_id, at) values (old.team_id, old.created_at / 900000 * 900000)
    on conflict do nothing;
end;
