-- What rules of segments ask for. When a person last opened or clicked mail of the team; bots are not counted.
alter table contacts add column last_opened_at integer;
alter table contacts add column last_clicked_at integer;

-- The size of a segment with rules when it was last counted.
alter table segments add column counted integer;
alter table segments add column counted_at integer;
