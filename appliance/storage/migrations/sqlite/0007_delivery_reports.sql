-- RFC 3461. report_to: who hears of the email's deliveries; null: nobody does.
alter table emails add column report_to text;
alter table emails add column ret text check (ret in ('FULL', 'HDRS'));
alter table emails add column envid text;

-- notify: 'NEVER', or keywords with commas between.
alter table recipients add column notify text;
alter table recipients add column orcpt text;

-- Which reports are due, and which have been made: the key is what makes them one for each delivery and kind.
-- report_id: the email that is the report; null while it is due, and when there was nothing to tell any more.
create table reports (
  delivery_id text not null references recipients (id) on delete cascade,
  kind text not null check (kind in ('failed', 'delayed', 'relayed')),
  team_id text not null,
  email_id text not null,
  created_at integer not null,
  done_at integer,
  report_id text,
  primary key (delivery_id, kind)
) strict, without rowid;

create index reports_due on reports (email_id, kind) where done_at is null;
