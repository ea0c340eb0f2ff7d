import { Type, type Static } from 'typebox'
import { PROVIDERS_DESCRIPTION, ProviderSchema } from './sign-in.ts'
import { acmeSection } from './schema-acme.ts'
import { nameserverSection } from './schema-nameserver.ts'
import { smtpSection } from './schema-smtp.ts'
import { alertsSection } from './schema-alerts.ts'
import { s3Section, secretsSection, storageSection } from './schema-storage.ts'
import { failoverSection, regionKey } from './schema-regions.ts'
import { doctorSection, logSection, metricsSection } from './schema-watch.ts'
import { section, stringList } from './formats.ts'

/**
 * The configuration schema: every key with its type, default and description. The loader, the environment names, the
 * example file and the reference in docs/ are all derived from it.
 */

export const ConfigSchema = Type.Object(
  {
    hostname: Type.String({
      format: 'hostname',
      description:
        'Fully qualified name of this machine: the EHLO name, the target of the return-path MX records and the name in Received headers. Its A/AAAA and PTR records should agree.',
    }),
    data_dir: Type.String({
      format: 'absolute-path',
      default: '/var/lib/posthaste',
      description:
        'Directory for the SQLite database, large messages, keys and certificates. Created at the first start, readable only by the service.',
    }),
    region: regionKey,
    failover: failoverSection,
    storage: storageSection,
    s3: s3Section,
    secrets: secretsSection,
    http: section('REST API and dashboard.', {
      listen: stringList(
        'Addresses to listen on, host:port. The API is at the root, the dashboard under /dashboard.',
        'host-port',
        ['0.0.0.0:8025'],
        { minItems: 1 },
      ),
      tls_listen: stringList(
        'HTTPS addresses to listen on, host:port, using the certificates from [tls] and [acme]. An empty list turns HTTPS off.',
        'host-port',
      ),
      admin_listen: stringList(
        'Separate addresses for the dashboard and all API paths that require a sign-in, host:port. If this or admin_tls_listen is set, listen and tls_listen serve only apps. If both are empty, listen serves everything.',
        'host-port',
      ),
      admin_tls_listen: stringList('The same as admin_listen, but with HTTPS.', 'host-port'),
      hsts_days: Type.Integer({
        minimum: 0,
        maximum: 3650,
        default: 0,
        description:
          'Days for which browsers must use only HTTPS (Strict-Transport-Security, sent over HTTPS). With 0, the header is not sent. Browsers remember the value until it expires, so it cannot be revoked earlier.',
      }),
      public_url: Type.Optional(
        Type.String({
          format: 'origin',
          description:
            'Public origin of this server, used in links. Default: http:// and the first address in listen.',
        }),
      ),
      admin_url: Type.Optional(
        Type.String({
          format: 'origin',
          description:
            'Public origin of the dashboard, if it differs from http.public_url. Used for invitation and password reset links, passkeys and identity providers. Default: http.public_url, or the first address in http.admin_listen if that is set.',
        }),
      ),
      max_connections: Type.Integer({
        minimum: 10,
        maximum: 100_000,
        default: 2000,
        description:
          "Maximum number of open HTTP connections, capped at 30% of the process's file descriptor limit. Unauthenticated clients can use at most 60% of them, one team at most 25%.",
      }),
      max_connections_per_address: Type.Integer({
        minimum: 1,
        maximum: 100_000,
        default: 1000,
        description:
          'Maximum number of open HTTP connections from one IPv4 address or IPv6 /48 that has authenticated within 24 hours. Proxies in http.trust_proxy are not limited.',
      }),
      max_unknown_connections_per_address: Type.Integer({
        minimum: 1,
        maximum: 100_000,
        default: 200,
        description: 'The same limit for addresses that have not authenticated.',
      }),
      trust_proxy: stringList(
        'Networks of reverse proxies, in CIDR notation. Posthaste trusts their X-Forwarded-For and X-Forwarded-Proto.',
        'network',
      ),
    }),
    sign_in: section('Sign-in to the dashboard.', {
      providers: Type.Array(ProviderSchema, { default: [], description: PROVIDERS_DESCRIPTION }),
    }),
    smtp: smtpSection,
    tls: section('TLS certificate of this host. Posthaste reloads the files when they change.', {
      cert: Type.Optional(
        Type.String({
          description:
            'PEM file with the certificate chain. Default: a self-signed certificate, created once.',
        }),
      ),
      key: Type.Optional(Type.String({ description: 'PEM file with the private key.' })),
      additional: Type.Array(
        Type.Object({ cert: Type.String(), key: Type.String() }, { additionalProperties: false }),
        {
          default: [],
          description:
            'Additional certificates, selected by SNI. Each applies to the names in the certificate.',
        },
      ),
    }),
    acme: acmeSection,
    inbound: section('Mail from other servers on port 25.', {
      dnsbl: stringList(
        'DNS blocklists to ask about servers that send mail to receiving domains, such as zen.spamhaus.org. Listed servers are refused (docs/receiving.md).',
        'hostname',
      ),
      dnsbl_allow: stringList(
        'Networks that are never looked up in these blocklists, in CIDR notation.',
        'network',
      ),
      rspamd_url: Type.Optional(
        Type.String({
          format: 'origin',
          description:
            "Origin of rspamd's normal worker, such as http://127.0.0.1:11333. It is asked about mail to receiving domains (docs/receiving.md). Default: no spam filter.",
        }),
      ),
      rspamd_unavailable: Type.Union([Type.Literal('accept'), Type.Literal('defer')], {
        default: 'accept',
        description:
          'What to do with mail while rspamd does not answer: "accept" it without a verdict, or "defer" it with a temporary refusal.',
      }),
      milters: stringList(
        'Mail filters to ask about mail to receiving domains over the milter protocol, in this order, such as 127.0.0.1:8891 or unix:/run/opendkim/opendkim.sock (docs/receiving.md).',
        'milter',
      ),
      milter_unavailable: Type.Union([Type.Literal('accept'), Type.Literal('defer')], {
        default: 'accept',
        description:
          'What to do with mail while a milter does not answer: "accept" it without a verdict, or "defer" it with a temporary refusal.',
      }),
    }),
    dns: section('Name resolution.', {
      servers: stringList(
        'DNS resolvers, ip or ip:port, in order of preference. Default: the resolvers in /etc/resolv.conf.',
        'ip-optional-port',
      ),
      trust_ad: Type.Boolean({
        default: false,
        description:
          'Set this to true if the resolvers validate DNSSEC and the connection to them is secure, as with unbound on this machine. It is required for DANE; without it, Posthaste ignores TLSA records.',
      }),
    }),
    nameserver: nameserverSection,
    delivery: section('Delivery to mail exchangers.', {
      port: Type.Integer({
        minimum: 1,
        maximum: 65535,
        default: 25,
        description: 'Port to connect to on mail exchangers.',
      }),
      source_ips: stringList(
        'Sending IPs: local IPv4 and IPv6 addresses to send from. Default: the system chooses.',
        'ip',
      ),
      warm_up: Type.Boolean({
        default: false,
        description:
          'Warm up addresses that are newly added to source_ips: start with a low daily limit and raise it step by step. Addresses added earlier are not affected.',
      }),
      allow_networks: stringList(
        'Private, loopback, link-local or other special networks, or addresses of this machine, that mail may be delivered to, in CIDR notation. Posthaste refuses to connect to mail exchangers in other such networks, because anyone can point the MX records of a domain at them.',
        'network',
      ),
      bounces: Type.Optional(
        Type.String({
          format: 'absolute-path',
          description:
            'TOML file with your own rules for classifying server replies. They take precedence over the built-in rules (config/bounces.toml).',
        }),
      ),
      provider_rules: Type.Optional(
        Type.String({
          format: 'absolute-path',
          description:
            'TOML file with the rules of mailbox providers for senders. It replaces the built-in one (config/provider-rules.toml).',
        }),
      ),
      returned_mail: Type.Optional(
        Type.String({
          format: 'absolute-path',
          description:
            'TOML file with your own formats and rules for reading returned mail. They take precedence over the built-in ones (config/returned-mail.toml).',
        }),
      ),
      test_domains: stringList(
        'Test domains whose addresses Posthaste simulates without sending: delivered@, bounced@, complained@ and suppressed@, each with any +label. An empty list turns test addresses off.',
        'hostname',
        ['resend.dev', 'test.posthaste.invalid'],
      ),
      feedback_id: Type.Boolean({
        default: true,
        description:
          'Add a Feedback-ID field to mail that has none. Gmail uses it to group complaints. It records how the mail was submitted, a hash of the team, and the stream (transactional or broadcast).',
      }),
      max_connections: Type.Integer({
        minimum: 1,
        maximum: 2000,
        default: 100,
        description: 'Maximum number of open outgoing SMTP connections to all destinations.',
      }),
      max_connections_per_domain: Type.Integer({
        minimum: 1,
        maximum: 500,
        default: 10,
        description:
          'Maximum number of open SMTP connections from one sending IP to a mailbox provider that is not in providers.toml.',
      }),
      providers: Type.Optional(
        Type.String({
          format: 'absolute-path',
          description:
            'TOML file with the mailbox providers and their limits. Default: the built-in file, config/providers.toml.',
        }),
      ),
    }),
    tls_reports: section(
      'Daily reports to recipient domains that request them, about failed TLS connections to their mail servers (RFC 8460).',
      {
        from: Type.Optional(
          Type.String({
            format: 'address',
            description:
              'Sender address of the reports, on a verified domain of the first team. If unset, Posthaste sends no reports, but you can still view their content.',
          }),
        ),
        contact: Type.Optional(
          Type.String({
            format: 'address',
            description: 'Contact address in the reports. Default: tls_reports.from.',
          }),
        ),
      },
    ),
    notices: section('Email that the server itself sends to users: password resets and invitations.', {
      from: Type.Optional(
        Type.String({
          format: 'address',
          description:
            "Sender address, on a verified domain of the first team. Default: posthaste@ followed by the team's first verified domain.",
        }),
      ),
    }),
    webhooks: section('Webhook settings.', {
      allow_networks: stringList(
        "Private or loopback networks, or this machine's own addresses, that webhook URLs may point to, in CIDR notation. Plain http:// is also allowed for them.",
        'network',
        [],
      ),
      retention_days: Type.Integer({
        minimum: 1,
        maximum: 365,
        default: 30,
        description: 'Days to keep webhook deliveries and their attempts.',
      }),
    }),
    tracking: section('Open and click tracking, for domains that enable it.', {
      store_ip: Type.Boolean({
        default: true,
        description:
          'Store the IP addresses of people who open emails or follow links, and include them in webhook events. If off, Posthaste uses them only to detect bots and does not store them.',
      }),
      robots: Type.Optional(
        Type.String({
          format: 'absolute-path',
          description:
            'TOML file with your own rules for detecting bots. They take precedence over the built-in rules (config/robots.toml).',
        }),
      ),
    }),
    limits: section('Limits for requests and messages.', {
      rate_per_second: Type.Integer({
        minimum: 1,
        maximum: 1_000_000,
        default: 10,
        description:
          'API requests per second for one team, across all its keys. Bursts can be as large as this number. The dashboard is not limited.',
      }),
      plans: Type.Optional(
        Type.String({
          format: 'absolute-path',
          description:
            'TOML file with the plans for teams (daily and monthly quotas). Default: the built-in file, config/plans.toml.',
        }),
      ),
      message_bytes: Type.Integer({
        minimum: 1024,
        maximum: 268_435_456,
        default: 41_943_040,
        description: 'Maximum size of a request and of a message, including encoded attachments, in bytes.',
      }),
    }),
    logs: section('Log of API requests and responses, shown in the dashboard and by GET /logs.', {
      retention_days: Type.Integer({
        minimum: 0,
        maximum: 3650,
        default: 30,
        description:
          'Days to keep each request. Bodies are kept up to 16 KiB each, without secrets and attachments. The html and text of accepted emails are not kept again: they are shown until `retention.bodies_days` ends. With 0, no new requests are logged.',
      }),
    }),
    retention: section(
      'How long to keep finished emails, in days after they were accepted. Queued emails are never deleted.',
      {
        bodies_days: Type.Integer({
          minimum: 0,
          maximum: 36_500,
          default: 30,
          description:
            'Bodies: HTML, text, attachments and the message itself. With 0, they are deleted within an hour after the email is final.',
        }),
        attempts_days: Type.Integer({
          minimum: 1,
          maximum: 36_500,
          default: 90,
          description: 'Transcripts of the SMTP conversations with mail exchangers.',
        }),
        events_days: Type.Integer({
          minimum: 1,
          maximum: 36_500,
          default: 90,
          description: 'Events: the timeline of each email, and the events that can be replayed to webhooks.',
        }),
        emails_days: Type.Integer({
          minimum: 1,
          maximum: 36_500,
          default: 365,
          description: 'Emails and all related data: recipients, states, subjects.',
        }),
        audit_days: Type.Integer({
          minimum: 0,
          maximum: 36_500,
          default: 730,
          description: 'Audit log entries, in days after the action. With 0, they are kept forever.',
        }),
        disk_budget_mb: Type.Optional(
          Type.Integer({
            minimum: 100,
            maximum: 1_000_000_000,
            description:
              'Maximum disk usage of the database and messages, in megabytes (1,000,000 bytes each). Above it, Posthaste deletes the oldest bodies of finished emails early. If unset, the size of the disk is the only limit.',
          }),
        ),
      },
    ),
    doctor: doctorSection,
    alerts: alertsSection,
    metrics: metricsSection,
    log: logSection,
  },
  { additionalProperties: false },
)

/** A complete, valid configuration, with defaults. */
export type Config = Static<typeof ConfigSchema>
