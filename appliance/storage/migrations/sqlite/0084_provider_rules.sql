-- What happens to bulk mail of the team that breaks rules of mailbox providers.
alter table teams add column provider_rules text not null default 'warn' check (provider_rules in ('block', 'warn', 'off'));
