-- `hourly_rate`: emails per hour at most; null: no limit but that of the lanes. `next_at`: when the next one may be queued; null: at once.
alter table broadcasts add column hourly_rate integer check (hourly_rate > 0);
alter table broadcasts add column next_at integer;
