-- What uses templates.

-- The templates that the present version of an automation sends. `template`: an id or alias, as the automation says it.
create table automation_templates (
  team_id text not null references teams (id) on delete cascade,
  template text not null,
  automation_id text not null references automations (id) on delete cascade,
  primary key (team_id, template, automation_id)
) strict, without rowid;
create index automation_templates_automation on automation_templates (automation_id);
insert or ignore into automation_templates (team_id, template, automation_id)
  select a.team_id, json_extract(s.value, '$.config.template.id'), a.id
  from automations a join automation_versions v on v.id = a.version_id, json_each(v.content, '$.steps') s
  where json_extract(s.value, '$.type') = 'send_email' and json_extract(s.value, '$.config.template.id') is not null;

-- `template_id`: the template that the content was made from; null: none, or not known.
alter table broadcasts add column template_id text;
create index broadcasts_template on broadcasts (template_id, status) where template_id is not null;

-- Counts the emails of a template since a time, without reading their rows.
drop index emails_template;
create index emails_template on emails (template_id, created_at) where template_id is not null;
