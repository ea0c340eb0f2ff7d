-- The first characters of a key's token, by which people tell keys apart. The 190 random bits after them are stored as a hash only.
alter table api_keys add column prefix text;

-- Who acted and what it was about, by the names of that moment: either may be gone when somebody reads the entry.
alter table audit_log add column actor_name text;
alter table audit_log add column target_name text;
update audit_log set actor_name = (select name from api_keys where id = audit_log.actor) where actor_kind = 'api_key';
update audit_log set target_name = (select name from domains where id = substr(audit_log.target, 8)) where target like 'domain %';
update audit_log set target_name = (select name from api_keys where id = substr(audit_log.target, 9)) where target like 'api\_key %' escape '\';
update audit_log set target_name = (select endpoint from webhooks where id = substr(audit_log.target, 9)) where target like 'webhook %';
