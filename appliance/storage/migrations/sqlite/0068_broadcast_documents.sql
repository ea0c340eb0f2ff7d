-- `document`: JSON, what the editor changes; `html` and `text` of `content` are compiled from it. Null: the HTML was written as code.
alter table broadcasts add column document text;
