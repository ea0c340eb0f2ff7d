-- What the spam filter said about received mail. `spam`: JSON; null: no filter was asked.
alter table received_emails add column spam text;
alter table received_emails add column is_spam integer not null default 0 check (is_spam in (0, 1));
