-- Who did what. team_id is null where the act was upon the whole appliance; entries outlive their team.
-- after is null until the act has come to its end.
create table audit_log (
  id text primary key,
  team_id text,
  at integer not null,
  actor text not null,
  actor_kind text not null check (actor_kind in ('user', 'api_key', 'command', 'system')),
  ip text,
  action text not null,
  target text not null,
  before text,
  after text,
  details text not null
) strict, without rowid;

create index audit_log_team on audit_log (team_id, id);

-- New mail that meets all conditions is held. The id is that of the audit entry which made the rule.
create table hold_rules (
  id text primary key,
  team_id text references teams (id) on delete cascade,
  domain text,
  provider text,
  tag_name text,
  tag_value text,
  created_at integer not null
) strict, without rowid;

create index hold_rules_team on hold_rules (team_id);
create index hold_rules_provider on hold_rules (provider);

-- The audit entry that held, released or re-routed a delivery last, and the pool before a re-route: what undoing needs.
alter table deliveries add column touched_by text;
alter table deliveries add column pool_before text;
