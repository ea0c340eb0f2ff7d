-- Automations: steps that run for a contact when a custom event arrives.

-- `version_id`: the steps that new runs get. `stopped_at`: runs that began until then end; null: none is left. `stop_reason`: why Posthaste stopped it.
-- `deleted_at`: hidden; its runs are removed when they are old.
create table automations (
  id text primary key not null,
  team_id text not null references teams (id) on delete cascade,
  name text not null,
  status text not null check (status in ('enabled', 'disabled')),
  version_id text not null,
  stopped_at integer,
  stop_reason text,
  created_at integer not null,
  updated_at integer not null,
  deleted_at integer
) strict;
create index automations_team on automations (team_id, id);
create index automations_stopped on automations (stopped_at) where stopped_at is not null;

-- Never changed, because a run keeps the version that it began with. `content`: JSON, steps and connections.
create table automation_versions (
  id text primary key not null,
  team_id text not null references teams (id) on delete cascade,
  automation_id text not null references automations (id) on delete cascade,
  content text not null,
  created_at integer not null
) strict;
create index automation_versions_automation on automation_versions (automation_id);

-- Which events start the present version.
create table automation_triggers (
  team_id text not null references teams (id) on delete cascade,
  event_name text not null,
  automation_id text not null references automations (id) on delete cascade,
  primary key (team_id, event_name, automation_id)
) strict, without rowid;
create index automation_triggers_automation on automation_triggers (automation_id);

-- `event`: JSON, the payload that started it. `waits`: JSON, payloads of events that it waited for, by name.
create table automation_runs (
  id text primary key not null,
  team_id text not null references teams (id) on delete cascade,
  automation_id text not null references automations (id) on delete cascade,
  version_id text not null,
  contact_id text not null,
  event_name text not null,
  event text not null,
  waits text not null,
  status text not null check (status in ('running', 'completed', 'failed', 'cancelled')),
  created_at integer not null,
  completed_at integer
) strict;
create index automation_runs_automation on automation_runs (automation_id, id);
create index automation_runs_running on automation_runs (automation_id, created_at) where status = 'running';
create index automation_runs_ended on automation_runs (automation_id, completed_at) where completed_at is not null;
create index automation_runs_contact on automation_runs (team_id, contact_id, automation_id, created_at);

-- The steps that a run has reached. `due_at`: when to go on with it; null: it has ended. `event_name`: what it waits for.
create table automation_run_steps (
  run_id text not null references automation_runs (id) on delete cascade,
  key text not null,
  team_id text not null references teams (id) on delete cascade,
  type text not null,
  status text not null check (status in ('pending', 'waiting', 'completed', 'failed', 'skipped')),
  due_at integer,
  event_name text,
  contact_id text not null,
  output text,
  error text,
  created_at integer not null,
  completed_at integer,
  primary key (run_id, key)
) strict, without rowid;
create index automation_run_steps_due on automation_run_steps (due_at, run_id) where due_at is not null;
create index automation_run_steps_waiting on automation_run_steps (team_id, event_name, contact_id) where event_name is not null;

-- 1: an automation may have to do something about it.
alter table sent_events add column pending integer not null default 0 check (pending in (0, 1));
create index sent_events_pending on sent_events (id) where pending = 1;
