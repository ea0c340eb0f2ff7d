-- What nodes that share a PostgreSQL database know of each other. On SQLite, the only node doesn't use these columns.
-- `run`: the run of the daemon that owns the row. `started_at` is null until a daemon first joins. Times of nodes are the
-- database's. `voided`: whether the leases of a node that is gone were freed.
alter table nodes add column name text not null default '';
alter table nodes add column run text;
alter table nodes add column state text not null default 'stopped' check (state in ('active', 'leaving', 'stopped'));
alter table nodes add column started_at integer;
alter table nodes add column heartbeat_at integer;
alter table nodes add column facts text;
alter table nodes add column voided integer not null default 0;
