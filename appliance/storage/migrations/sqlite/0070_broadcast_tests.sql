-- When a test of the content was last sent; null: none since its last change.
alter table broadcasts add column tested_at integer;
