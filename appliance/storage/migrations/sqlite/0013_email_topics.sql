-- The topic that an email is about: who opted out of it is not sent to.
alter table emails add column topic_id text;

-- A delivery to somebody who opted out is final from the start, as a suppressed one is.
drop trigger deliveries_suppressed;
create trigger deliveries_final_at_once after insert on deliveries
when new.state in ('suppressed', 'failed') and exists (select 1 from domains where keep_bodies = 0)
begin
  insert or ignore into bodies_due (email_id, team_id)
  select e.id, e.team_id from emails e join domains d on d.id = e.domain_id
  where e.id = new.email_id and d.keep_bodies = 0;
end;
