-- `reach`: JSON, recipients that opened, clicked and unsubscribed, as of counted_at; null: not counted.
alter table broadcasts add column reach text;
