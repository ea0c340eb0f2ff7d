-- `document`: JSON, what the editor changes; `html` and `text` are compiled from it. Null: the HTML was written as code.
alter table template_versions add column document text;
