-- What follows from a change, and the rows that are there from the start: as the migrations of SQLite have it.

-- The oldest schema whose versions of the program work with the database after a migration: several nodes share it
-- while they are upgraded one after the other.
alter table migrations add column oldest bigint not null default 3;

-- The number of a row, which SQLite has by itself.
alter table deliveries add column rowid bigint generated always as identity;
create unique index deliveries_rowid on deliveries (rowid);

-- Transactions that store events commit one after the other: so the order of `seq` is that in which events become visible.
create function events_in_order() returns trigger language plpgsql as $$
begin
  perform pg_advisory_xact_lock(7310881);
  return null;
end $$;
create trigger events_in_order before insert on events for each statement execute function events_in_order();

create function refuse_unsealed(value bytea) returns void language plpgsql as $$
begin
  if substr(value, 1, 26) <> (select convert_to('sealed:1:' || id || ':', 'UTF8') from master_key) then
    raise exception 'not sealed with the present master key' using errcode = 'check_violation';
  end if;
end $$;

create function totp_factors_sealed() returns trigger language plpgsql as $$
begin
  perform refuse_unsealed(new.secret);
  return new;
end $$;
create trigger totp_factors_sealed before insert or update of secret on totp_factors
  for each row execute function totp_factors_sealed();

create function dkim_keys_sealed() returns trigger language plpgsql as $$
begin
  if length(new.private_key) > 0 then
    perform refuse_unsealed(new.private_key);
  end if;
  return new;
end $$;
create trigger dkim_keys_sealed before insert or update of private_key on dkim_keys
  for each row execute function dkim_keys_sealed();

create function webhooks_sealed() returns trigger language plpgsql as $$
begin
  perform refuse_unsealed(convert_to(new.secret, 'UTF8')), refuse_unsealed(convert_to(new.old_secret, 'UTF8'));
  return new;
end $$;
create trigger webhooks_sealed before insert or update of secret, old_secret on webhooks
  for each row execute function webhooks_sealed();

create function secrets_sealed() returns trigger language plpgsql as $$
begin
  if new.name <> 'erasures' then
    perform refuse_unsealed(new.value);
  end if;
  return new;
end $$;
create trigger secrets_sealed before insert or update of value on secrets
  for each row execute function secrets_sealed();

create function deliveries_final_at_once() returns trigger language plpgsql as $$
begin
  insert into bodies_due (email_id, team_id)
  select e.id, e.team_id from emails e join domains d on d.id = e.domain_id
  where e.id = new.email_id and d.keep_bodies = 0
  on conflict do nothing;
  return null;
end $$;
create trigger deliveries_final_at_once after insert on deliveries
  for each row when (new.state in ('suppressed', 'failed')) execute function deliveries_final_at_once();

create function deliveries_ended() returns trigger language plpgsql as $$
begin
  insert into bodies_due (email_id, team_id)
  select e.id, e.team_id from emails e join domains d on d.id = e.domain_id
  where e.id = old.email_id and d.keep_bodies = 0
    and not exists (select 1 from deliveries where email_id = old.email_id and expires_at is not null)
  on conflict do nothing;
  return null;
end $$;
create trigger deliveries_ended after update of state on deliveries
  for each row when (new.expires_at is null and old.expires_at is not null) execute function deliveries_ended();

create function returned_messages_added() returns trigger language plpgsql as $$
begin
  insert into returned_use (team_id, bytes) values (new.team_id, 1024 + coalesce(length(new.body), 0))
  on conflict (team_id) do update set bytes = returned_use.bytes + excluded.bytes;
  return null;
end $$;
create trigger returned_messages_added after insert on returned_messages
  for each row execute function returned_messages_added();

create function returned_messages_removed() returns trigger language plpgsql as $$
begin
  update returned_use set bytes = bytes - 1024 - coalesce(length(old.body), 0) where team_id = old.team_id;
  return null;
end $$;
create trigger returned_messages_removed after delete on returned_messages
  for each row execute function returned_messages_removed();

create function events_deleted() returns trigger language plpgsql as $$
begin
  insert into metrics_kept (team_id, at) values (old.team_id, old.created_at / 900000 * 900000)
  on conflict do nothing;
  return null;
end $$;
create trigger events_deleted after delete on events
  for each row when (old.counted <> '') execute function events_deleted();

-- What is counted in a time that was summed up already.
create function metrics_late(metrics, bigint) returns void language sql as $$
  insert into metrics_sums (team_id, dimension, length, at, value, counter, n)
  select $1.team_id, dimension, length, late.at, value, $1.counter, $2 from (
    select 'all' as dimension, 3600000::bigint as length, $1.at / 3600000 * 3600000 as at, '' as value
    union all select 'all', 86400000, $1.at / 86400000 * 86400000, ''
    union all select 'all', 604800000, ($1.at + 259200000) / 604800000 * 604800000 - 259200000, ''
    union all select 'domain', 86400000, $1.at / 86400000 * 86400000, $1.domain_id
    union all select 'domain', 604800000, ($1.at + 259200000) / 604800000 * 604800000 - 259200000, $1.domain_id
    union all select 'provider', 3600000, $1.at / 3600000 * 3600000, $1.provider
    union all select 'provider', 86400000, $1.at / 86400000 * 86400000, $1.provider
    union all select 'provider', 604800000, ($1.at + 259200000) / 604800000 * 604800000 - 259200000, $1.provider
  ) as late
  where late.at + length <= (select until from metrics_summed where team_id = $1.team_id)
  on conflict (team_id, dimension, length, at, value, counter) do update set n = metrics_sums.n + excluded.n
$$;

create function metrics_changed() returns trigger language plpgsql as $$
declare
  summed bigint;
begin
  if tg_op = 'DELETE' then
    select until into summed from metrics_summed where team_id = old.team_id;
    if old.at < summed then
      perform metrics_late(old, -old.n);
    end if;
  else
    select until into summed from metrics_summed where team_id = new.team_id;
    if new.at < summed then
      perform metrics_late(new, case tg_op when 'INSERT' then new.n else new.n - old.n end);
    end if;
  end if;
  return null;
end $$;
create trigger metrics_changed after insert or update of n or delete on metrics
  for each row execute function metrics_changed();

insert into secrets (name, value, created_at)
  values ('erasures', decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'), 0);
insert into nodes (id, created_at) values (substr(replace(gen_random_uuid()::text, '-', ''), 17), 0);
insert into cursors (name, seq) values ('webhooks', 0), ('tags', 0), ('insights', 0);
