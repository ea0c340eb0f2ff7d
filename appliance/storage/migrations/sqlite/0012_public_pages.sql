-- How a team's preference page looks. `words`: JSON, the team's own texts by language. Colors: `#rrggbb`. `logo`: a data: URL.
create table unsubscribe_pages (
  team_id text primary key not null references teams (id) on delete cascade,
  words text not null,
  default_language text not null,
  background_color text not null,
  text_color text not null,
  accent_color text not null,
  logo text,
  postal_address text,
  updated_at integer not null
) strict;
