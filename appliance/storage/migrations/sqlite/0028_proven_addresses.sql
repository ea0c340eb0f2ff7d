-- Whether the one who has an account has also shown that its address is theirs, and links that show it.

-- Since when the address is known to be that of the one who has the account: a link arrived by mail, or a provider that is the authority on
-- addresses said so. Null: nobody has shown it, so whoever made the account may be somebody else.
alter table users add column proven_at integer;

-- The first owner was made by whoever runs the server. Of all others it is not known.
update users set proven_at = created_at
  where id in (
    select user_id from members
      where role = 'owner' and team_id = (select id from teams order by created_at, id limit 1)
        and users.created_at = (select created_at from teams order by created_at, id limit 1)
  );

-- The same invitation has two links: one that its sender is shown, and one that only the mail holds.
alter table invitations add column mailed_hash text;
create unique index invitations_mailed on invitations (mailed_hash);

-- 0: a second step only. It is older than the proof of the address, so whoever added it may be somebody else.
alter table passkeys add column alone integer not null default 1 check (alone in (0, 1));
