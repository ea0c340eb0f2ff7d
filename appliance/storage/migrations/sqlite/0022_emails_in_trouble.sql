-- For finding the few emails that did not go as they should. Partial: mail that is delivered never enters it, and pays nothing.
create index emails_trouble on emails (team_id, last_event, id)
  where last_event in ('delivery_delayed', 'bounced', 'complained', 'failed', 'canceled', 'suppressed');
