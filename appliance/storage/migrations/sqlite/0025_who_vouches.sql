-- Whether a session is strong by a factor of the person, or by the word of the provider that it began at.

alter table sessions add column vouched integer not null default 0 check (vouched in (0, 1));

-- Which of the two it was is not known of those that are there: their people sign in again.
delete from sessions where strong = 1 and method like 'oidc:%';
