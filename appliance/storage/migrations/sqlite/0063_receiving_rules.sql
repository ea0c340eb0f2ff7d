-- What a domain does with mail to its addresses. JSON: ReceivingRule[] (mail/receiving-rules.ts).
alter table domains add column receiving_rules text not null default '[]';
