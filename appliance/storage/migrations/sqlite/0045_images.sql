-- Images that emails show, as they are served to their readers: sniffed, without metadata.

-- `id`: SHA-256 of the bytes, in hex; the address of the image has it. `used_at`: when a document or an API key last needed it; null: it
-- was uploaded in the editor, and no document has it so far.
create table images (
  team_id text not null references teams (id) on delete cascade,
  id text not null,
  type text not null,
  width integer not null,
  height integer not null,
  bytes integer not null,
  body blob not null,
  used_at integer,
  created_at integer not null,
  primary key (team_id, id)
);

create index images_by_id on images (id);
create index images_unused on images (created_at) where used_at is null;
