-- Broadcasts: one email to each contact of a segment.

-- `seq` stands for the broadcast in broadcast_recipients, where an id would take 36 octets of each row. `exclude`: JSON, ids of segments
-- whose contacts get nothing. `content`: JSON, what the draft says. `edits`: raised by each change of the draft, so that two writers notice.
-- `revision_id`: what is sent, once it has started. `cursor`: the last contact that became a recipient; `expanded_at`: all of them are.
-- `skipped`: JSON, recipients that are not sent to, by reason. `problem`: why it failed. `counts`: JSON, results as last counted.
create table broadcasts (
  seq integer primary key autoincrement,
  id text not null unique,
  team_id text not null references teams (id) on delete cascade,
  name text not null,
  status text not null check (status in ('draft', 'scheduled', 'queued', 'sent', 'canceled', 'failed')),
  segment_id text not null,
  exclude text not null,
  topic_id text,
  content text not null,
  edits integer not null default 0,
  created_at integer not null,
  updated_at integer not null,
  scheduled_at integer,
  started_at integer,
  finished_at integer,
  revision_id text,
  cursor text not null default '',
  expanded_at integer,
  expanded integer not null default 0,
  enqueued integer not null default 0,
  skipped text not null default '{}',
  paused_at integer,
  pause_reason text check (pause_reason in ('person', 'bounces', 'complaints', 'late', 'restored')),
  pause_figures text,
  problem text,
  counts text,
  counted_at integer,
  check ((paused_at is null) = (pause_reason is null))
) strict;
create index broadcasts_team on broadcasts (team_id, id);
create index broadcasts_open on broadcasts (status, id) where status in ('scheduled', 'queued', 'canceled');

-- What a broadcast sends, as it was when it started. Never changed. `content`: JSON.
create table broadcast_revisions (
  id text primary key not null,
  broadcast_id text not null references broadcasts (id) on delete cascade,
  team_id text not null,
  content text not null,
  created_at integer not null
) strict;
create index broadcast_revisions_broadcast on broadcast_revisions (broadcast_id);

-- `bucket`: the mailbox provider of a recipient that waits for a place in the queue, empty where it is not known yet; null: no longer waits.
-- `opens` and `clicks`: of people, not of machines.
create table broadcast_recipients (
  broadcast integer not null,
  contact_id text not null,
  bucket text,
  email_id text,
  skipped text check (skipped in ('unsubscribed', 'topic', 'deleted', 'canceled')),
  opens integer not null default 0,
  clicks integer not null default 0,
  unsubscribed integer not null default 0 check (unsubscribed in (0, 1)),
  primary key (broadcast, contact_id)
) strict, without rowid;
create index broadcast_recipients_waiting on broadcast_recipients (broadcast, bucket, contact_id) where bucket is not null;
create index broadcast_recipients_opened on broadcast_recipients (broadcast, contact_id) where opens > 0;
create index broadcast_recipients_clicked on broadcast_recipients (broadcast, contact_id) where clicks > 0;
create index broadcast_recipients_left on broadcast_recipients (broadcast, contact_id) where unsubscribed = 1;

-- `unique_clicks`: contacts that clicked it.
create table broadcast_links (
  broadcast integer not null,
  url text not null,
  clicks integer not null,
  unique_clicks integer not null,
  primary key (broadcast, url)
) strict, without rowid;

create table broadcast_clicks (
  broadcast integer not null,
  contact_id text not null,
  url text not null,
  clicks integer not null,
  primary key (broadcast, contact_id, url)
) strict, without rowid;

alter table emails add column broadcast_id text;
alter table emails add column contact_id text;
create index emails_broadcast on emails (broadcast_id, last_event, id) where broadcast_id is not null;
create index emails_broadcast_newest on emails (broadcast_id, id) where broadcast_id is not null;
