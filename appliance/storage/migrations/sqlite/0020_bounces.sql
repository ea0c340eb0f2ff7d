-- Reading of mail that came to a return path with a valid MAC.

-- `report`: JSON, what the message says and what it changed; null: it proves nothing, or was not read yet.
alter table returned_messages add column report text;

-- What is still to be read. `body`: only where returned_messages does not keep it. `attempts` is raised before each, so that a message that
-- ends the process is set aside.
create table returned_unread (
  id text primary key not null references returned_messages (id) on delete cascade,
  due_at integer not null,
  attempts integer not null default 0,
  body blob
) strict;
create index returned_unread_due on returned_unread (due_at, id);
