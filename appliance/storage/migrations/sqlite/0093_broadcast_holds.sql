-- `resumed_at`: when it was last resumed; the brakes count only emails that were first tried after that.
alter table broadcasts add column resumed_at integer;
-- `holds`: JSON by provider, those whose part waits and those that were resumed. Null: none.
alter table broadcasts add column holds text;
