-- Secrets at rest: which master key seals them. The key itself is never in the database.

-- One row from the moment on at which everything is sealed. cleaned_at: when what was there before, plain or under an older
-- key, was wiped from the free space of the file; null until then.
create table master_key (
  only integer primary key check (only = 1),
  id text not null check (length(id) = 16),
  sealed_at integer not null,
  cleaned_at integer
) strict;

-- From that moment on nothing is written that is plain or sealed with another key: not by a method that forgot to seal, and not by
-- a process that was started before the key was exchanged. 26 characters: `sealed:1:`, the id of the key, a colon. The key of the
-- erasures is used inside SQL and stays plain.
create trigger dkim_keys_sealed_insert before insert on dkim_keys
when length(new.private_key) > 0
  and substr(new.private_key, 1, 26) <> (select cast('sealed:1:' || id || ':' as blob) from master_key)
begin select raise(abort, 'not sealed with the present master key'); end;

create trigger dkim_keys_sealed_update before update of private_key on dkim_keys
when length(new.private_key) > 0
  and substr(new.private_key, 1, 26) <> (select cast('sealed:1:' || id || ':' as blob) from master_key)
begin select raise(abort, 'not sealed with the present master key'); end;

create trigger totp_factors_sealed_insert before insert on totp_factors
when substr(new.secret, 1, 26) <> (select cast('sealed:1:' || id || ':' as blob) from master_key)
begin select raise(abort, 'not sealed with the present master key'); end;

create trigger totp_factors_sealed_update before update of secret on totp_factors
when substr(new.secret, 1, 26) <> (select cast('sealed:1:' || id || ':' as blob) from master_key)
begin select raise(abort, 'not sealed with the present master key'); end;

create trigger secrets_sealed_insert before insert on secrets
when new.name <> 'erasures'
  and substr(new.value, 1, 26) <> (select cast('sealed:1:' || id || ':' as blob) from master_key)
begin select raise(abort, 'not sealed with the present master key'); end;

create trigger secrets_sealed_update before update of value on secrets
when new.name <> 'erasures'
  and substr(new.value, 1, 26) <> (select cast('sealed:1:' || id || ':' as blob) from master_key)
begin select raise(abort, 'not sealed with the present master key'); end;

create trigger webhooks_sealed_insert before insert on webhooks
when substr(new.secret, 1, 26) <> (select 'sealed:1:' || id || ':' from master_key)
  or substr(new.old_secret, 1, 26) <> (select 'sealed:1:' || id || ':' from master_key)
begin select raise(abort, 'not sealed with the present master key'); end;

create trigger webhooks_sealed_update before update of secret, old_secret on webhooks
when substr(new.secret, 1, 26) <> (select 'sealed:1:' || id || ':' from master_key)
  or substr(new.old_secret, 1, 26) <> (select 'sealed:1:' || id || ':' from master_key)
begin select raise(abort, 'not sealed with the present master key'); end;
