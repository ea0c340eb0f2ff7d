-- The newest runs of a contact.
create index automation_runs_of_contact on automation_runs (team_id, contact_id, id);
