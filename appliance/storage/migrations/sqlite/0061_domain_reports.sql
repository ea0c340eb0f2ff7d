-- Reports of other servers about a domain: DMARC aggregate reports (RFC 9990) and TLS reports (RFC 8460). The messages themselves are not kept.

-- `submitter`: domain of the From field, which was authenticated. `total`, `failed`: messages, or sessions. `row_count`: rows of the two tables below.
create table domain_reports (
  id text primary key not null,
  team_id text not null references teams (id) on delete cascade,
  domain_id text not null references domains (id) on delete cascade,
  kind text not null check (kind in ('dmarc', 'tls')),
  received_at integer not null,
  submitter text not null,
  organization text not null,
  report_id text not null,
  policy_domain text not null,
  policy text not null,
  begin_at integer not null,
  end_at integer not null,
  total integer not null,
  failed integer not null,
  skipped integer not null,
  row_count integer not null
) strict;
create unique index domain_reports_once
  on domain_reports (domain_id, kind, submitter, report_id, policy_domain, begin_at);
create index domain_reports_list on domain_reports (domain_id, kind, id);
create index domain_reports_period on domain_reports (domain_id, kind, begin_at);
create index domain_reports_day on domain_reports (domain_id, received_at, submitter, row_count);
create index domain_reports_team on domain_reports (team_id);

create table dmarc_rows (
  report text not null references domain_reports (id) on delete cascade,
  position integer not null,
  source_ip text not null,
  header_from text not null,
  disposition text not null,
  dkim_aligned integer not null check (dkim_aligned in (0, 1)),
  spf_aligned integer not null check (spf_aligned in (0, 1)),
  dkim_domain text not null,
  dkim_result text not null,
  spf_domain text not null,
  spf_result text not null,
  reason text not null,
  messages integer not null,
  primary key (report, position)
) strict, without rowid;

-- `failure` is empty for sessions that succeeded.
create table tls_rows (
  report text not null references domain_reports (id) on delete cascade,
  position integer not null,
  policy_type text not null,
  failure text not null,
  receiving_mx text not null,
  reason text not null,
  sessions integer not null,
  primary key (report, position)
) strict, without rowid;
