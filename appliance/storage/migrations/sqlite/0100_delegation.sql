-- How the records of a domain are published: none: by its owner · cname: its DKIM keys by our DNS server · ns: also the
-- records of its return path.
alter table domains add column delegation text not null default 'none' check (delegation in ('none', 'cname', 'ns'));

-- The serial of the zones that our DNS servers answer from, and a hash of their content. One row.
create table dns_serial (
  id integer primary key check (id = 1),
  serial integer not null,
  digest text not null
) strict;
