-- Sign-up forms. `settings`: JSON (mail/form.ts). `submitted`, `confirmed`: numbers of sign-ups.
create table forms (
  id text primary key not null,
  team_id text not null references teams (id) on delete cascade,
  settings text not null,
  enabled integer not null check (enabled in (0, 1)),
  submitted integer not null,
  confirmed integer not null,
  created_at integer not null,
  updated_at integer not null
) strict;
create index forms_team on forms (team_id, id);

-- Sign-ups that wait for confirmation, and confirmed ones for a day, for the limits. `given`: JSON of names and property values; empty once confirmed.
-- `wording`: what the person saw. `state` due: the confirmation email is still to be sent.
create table form_signups (
  id text primary key not null,
  team_id text not null references teams (id) on delete cascade,
  form_id text not null references forms (id) on delete cascade,
  email text not null,
  address_key text not null,
  given text not null,
  language text not null,
  wording text not null,
  state text not null check (state in ('due', 'mailed', 'confirmed')),
  created_at integer not null
) strict;
create index form_signups_address on form_signups (team_id, address_key, created_at);
create index form_signups_form on form_signups (form_id, created_at);
create index form_signups_due on form_signups (id) where state = 'due';
create index form_signups_created on form_signups (state, created_at);
