-- Four roles, invitations, and the rule of a team that its members need a second factor.

create table members_with_roles (
  team_id text not null references teams (id) on delete cascade,
  user_id text not null references users (id) on delete cascade,
  role text not null check (role in ('owner', 'admin', 'developer', 'viewer')),
  created_at integer not null,
  primary key (team_id, user_id)
) strict, without rowid;

insert into members_with_roles select team_id, user_id, role, created_at from members;

drop table members;
alter table members_with_roles rename to members;
create index members_user on members (user_id);

alter table teams add column mfa_required integer not null default 0 check (mfa_required in (0, 1));

-- email_key: the address in lower case. A new invitation takes the place of the one before.
create table invitations (
  id text primary key,
  team_id text not null references teams (id) on delete cascade,
  email text not null,
  email_key text not null,
  role text not null check (role in ('owner', 'admin', 'developer', 'viewer')),
  invited_by text references users (id) on delete set null,
  token_hash text not null unique,
  created_at integer not null,
  expires_at integer not null,
  unique (team_id, email_key)
) strict, without rowid;

create index invitations_email on invitations (email_key);
create index invitations_expiry on invitations (expires_at);
create index invitations_inviter on invitations (invited_by);
