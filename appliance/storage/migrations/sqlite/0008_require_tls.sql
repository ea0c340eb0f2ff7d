-- RFC 8689. yes: only over TLS to servers that promise the same; no: in plain text rather than not at all.
alter table emails add column require_tls text check (require_tls in ('yes', 'no'));
