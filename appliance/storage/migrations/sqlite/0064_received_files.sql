-- 1: the message of a received email is a file, as it is too large for a row of `received_sources`.
alter table received_emails add column in_file integer not null default 0 check (in_file in (0, 1));
create index received_emails_files on received_emails (team_id, id, size) where in_file = 1;
