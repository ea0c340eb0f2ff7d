-- Received email that rules forward: one row for each address. `email_id`: the email that was sent. `reason`: why none was.
create table received_forwards (
  received_id text not null references received_emails (id) on delete cascade,
  recipient text not null,
  state text not null check (state in ('pending', 'sent', 'skipped')),
  email_id text,
  reason text,
  primary key (received_id, recipient)
) strict, without rowid;
create index received_forwards_pending on received_forwards (received_id) where state = 'pending';
