-- The growth of an audience by day, in UTC: `audience_counts` also has the nouns created_on and unsubscribed_on, with days as
-- subjects. Counts contacts that still exist.
insert into audience_counts (team_id, noun, subject, n)
  select team_id, 'created_on', strftime('%Y-%m-%d', created_at / 1000, 'unixepoch'), count(*)
  from contacts group by 1, 3;
insert into audience_counts (team_id, noun, subject, n)
  select team_id, 'unsubscribed_on', strftime('%Y-%m-%d', unsubscribed_at / 1000, 'unixepoch'), count(*)
  from contacts where unsubscribed_at is not null group by 1, 3;
