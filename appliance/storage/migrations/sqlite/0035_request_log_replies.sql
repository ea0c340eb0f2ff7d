-- The query string of an HTTP request, without secrets; null: none.
alter table request_logs add column query text;
-- The enhanced status code of an SMTP reply (RFC 3463); null: none, or HTTP.
alter table request_logs add column enhanced text;
-- Why it was refused: the message of an HTTP error, or the text of an SMTP reply; null: it was accepted.
alter table request_logs add column message text;

-- `status` of SMTP held the HTTP status of the same refusal. The reply itself is the last refusal of the dialog.
update request_logs set status = 250 where method = 'SMTP' and status < 400;
update request_logs set status = coalesce((
  select cast(substr(json_extract(one.value, '$.reply'), 1, 3) as integer)
  from json_each(request_logs.response_body, '$.replies') as one
  where json_extract(one.value, '$.reply') >= '4'
  order by one.key desc limit 1), status)
where method = 'SMTP' and status >= 400 and json_valid(response_body);
