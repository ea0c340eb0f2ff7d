-- Who a person is at an identity provider.

-- issuer and subject name a person for good (OpenID Connect Core 1.0 §2: sub is never given to somebody else); the address
-- may change at the provider and is kept for showing only. provider: the id in sign_in.providers that it came through.
create table identities (
  id text primary key not null,
  user_id text not null references users (id) on delete cascade,
  provider text not null,
  issuer text not null,
  subject text not null,
  email text not null,
  created_at integer not null,
  last_used_at integer,
  unique (issuer, subject)
) strict, without rowid;

create index identities_user on identities (user_id, id);
