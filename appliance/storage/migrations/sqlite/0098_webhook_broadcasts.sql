-- `broadcasts`: whether events of emails of broadcasts are sent to it.
alter table webhooks add column broadcasts integer not null default 1 check (broadcasts in (0, 1));
