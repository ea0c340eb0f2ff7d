-- Undoing an import. `undone`: contacts that were removed again; `undo_after`: the last of them, where the next transaction goes on;
-- `undone_at`: when all were removed.
alter table contact_imports add column undone integer not null default 0;
alter table contact_imports add column undo_after text;
alter table contact_imports add column undone_at integer;
