-- Mail to domains that receive: one row for each team and message.

-- `answers_email_id`: the email of the team that it is a reply to. `received_for`, the address fields, `attachments` and `authentication`: JSON.
create table received_emails (
  id text primary key not null,
  team_id text not null references teams (id) on delete cascade,
  domain_id text not null,
  received_at integer not null,
  mail_from text not null,
  received_for text not null,
  ip text not null,
  helo text not null,
  tls text,
  size integer not null,
  from_header text not null,
  to_header text not null,
  cc_header text not null,
  bcc_header text not null,
  reply_to_header text not null,
  subject text not null,
  message_id text not null,
  attachments text not null,
  authentication text not null,
  answers_email_id text,
  has_content integer not null check (has_content in (0, 1))
) strict;
create index received_emails_list on received_emails (team_id, id);
create index received_emails_day on received_emails (team_id, received_at, size);
create index received_emails_answers on received_emails (answers_email_id) where answers_email_id is not null;

-- Apart, so that lists do not read them.
create table received_sources (
  id text primary key not null references received_emails (id) on delete cascade,
  body blob not null
) strict;

create index domains_receiving on domains (name) where receiving = 1;
