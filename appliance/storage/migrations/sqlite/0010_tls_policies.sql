-- MTA-STS policies of recipient domains (RFC 8461). They hold until expires_at, whatever becomes of DNS and the policy host, so they outlive
-- the process. policy: JSON. checked_at: when the policy was last fetched; used_at: the day of its last use, as an instant.
create table sts_policies (
  domain text primary key,
  policy_id text not null,
  policy text not null,
  checked_at integer not null,
  used_at integer not null,
  expires_at integer not null
) strict, without rowid;

create index sts_policies_checked on sts_policies (checked_at);
create index sts_policies_expires on sts_policies (expires_at);

-- What became of TLS, for reports to the recipient domains (RFC 8460): counts of sessions by day (UTC), domain, policy and outcome. result:
-- 'success', or a result type of §4.3. policy_key: a digest of policy (JSON), which is quoted in the report.
create table tls_results (
  day text not null,
  domain text not null,
  policy_key text not null,
  result text not null,
  source_ip text not null,
  mx_host text not null,
  mx_ip text not null,
  policy text not null,
  reason text not null,
  sessions integer not null,
  primary key (day, domain, policy_key, result, source_ip, mx_host, mx_ip)
) strict, without rowid;

-- What became of a day's report to a domain. state: sent; none: the domain asks for none, or its address is of no use; failed.
create table tls_reports (
  day text not null,
  domain text not null,
  state text not null check (state in ('sent', 'none', 'failed')),
  note text not null,
  at integer not null,
  primary key (day, domain)
) strict, without rowid;
