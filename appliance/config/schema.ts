import { Type, type Static } from 'typebox'
import { PROVIDERS_DESCRIPTION, ProviderSchema } from './sign-in.ts'
import { acmeSection } from './schema-acme.ts'
import { later, secret, section, strings } from './schema-parts.ts'
import { smtpSection } from './schema-smtp.ts'

/**
 * The configuration: every key with its type, default and meaning. The loader, the environment names, the
 * commented example file and the reference in docs/ are all made from this one schema.
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
        'Directory for the database and large messages. Made at first start, readable by the service only.',
    }),
    storage: section('Where mail waits.', {
      engine: Type.Union([Type.Literal('sqlite'), Type.Literal('postgres')], {
        default: 'sqlite',
        description: 'The storage engine. "sqlite" needs nothing else.',
      }),
      url: Type.Optional(
        Type.String({
          description: 'Database address for engine "postgres": postgres://user:password@host/name.',
          ...secret,
          ...later('PostgreSQL'),
        }),
      ),
      min_free_mb: Type.Integer({
        minimum: 0,
        maximum: 1_000_000_000,
        default: 64,
        description:
          'Megabytes (of a million bytes) that must be free on the disk under data_dir. Below it new mail is refused for the time being (452 4.3.1, HTTP 507), and accepted mail goes on being delivered with what is left. 0: refused only when the disk is full.',
      }),
      reserve_mb: Type.Integer({
        minimum: 0,
        maximum: 1_000_000,
        default: 16,
        description:
          'Megabytes (of a million bytes) that a file of the appliance\'s own, "reserve" in data_dir, takes up. It is removed when another program fills the disk, so that the outcomes of accepted mail can still be written down, and made again when there is room. min_free_mb counts beside it. 0: no reserve.',
      }),
    }),
    secrets: section('The master key that stored secrets are sealed with (docs/security.md).', {
      master_key_file: Type.Optional(
        Type.String({
          format: 'absolute-path',
          description:
            'File with the key: 32 bytes in base64, readable by the service only. Default: the environment variable POSTHASTE_MASTER_KEY, else the systemd credential posthaste-master-key, else master.key in data_dir, which is made at the first start.',
        }),
      ),
    }),
    http: section('REST API and dashboard.', {
      listen: strings(
        'Addresses to listen on, host:port. The API is at the root, the dashboard under /dashboard.',
        'host-port',
        ['0.0.0.0:8025'],
        { minItems: 1 },
      ),
      tls_listen: strings(
        'Addresses that speak HTTPS, host:port, with the certificates of [tls] and [acme]. An empty list: none.',
        'host-port',
      ),
      admin_listen: strings(
        'Addresses for the dashboard and all that people sign in for, host:port. Where it or admin_tls_listen is set, listen and tls_listen answer apps only. An empty list: everything is at listen.',
        'host-port',
      ),
      admin_tls_listen: strings('The same, speaking HTTPS.', 'host-port'),
      hsts_days: Type.Integer({
        minimum: 0,
        maximum: 3650,
        default: 0,
        description:
          'Days for which browsers are told to come by HTTPS only (Strict-Transport-Security), said over HTTPS. 0: nothing is said. It cannot be taken back before its time.',
      }),
      public_url: Type.Optional(
        Type.String({
          format: 'origin',
          description:
            'The origin at which people and apps reach this server, for links. Default: http:// and the first listening address.',
        }),
      ),
      admin_url: Type.Optional(
        Type.String({
          format: 'origin',
          description:
            'The origin at which people reach the dashboard where that is another one: for links in invitations and for a new password, for passkeys and identity providers. Default: http.public_url, and with http.admin_listen the first of its addresses.',
        }),
      ),
      max_connections: Type.Integer({
        minimum: 10,
        maximum: 100_000,
        default: 2000,
        description:
          'HTTP connections open at once. Lowered to 30% of the file descriptors that the process may have. 60% at most are for clients that have not signed in, 25% for one team.',
      }),
      max_connections_per_address: Type.Integer({
        minimum: 1,
        maximum: 100_000,
        default: 1000,
        description:
          'HTTP connections open at once from one IPv4 address, or one /48 of IPv6, where somebody has signed in or shown an API key within 24 hours. Proxies in http.trust_proxy are not limited.',
      }),
      max_unknown_connections_per_address: Type.Integer({
        minimum: 1,
        maximum: 100_000,
        default: 200,
        description: 'The same for addresses where nobody has.',
      }),
      trust_proxy: strings(
        'Networks of reverse proxies whose X-Forwarded-For and X-Forwarded-Proto are believed, in CIDR form.',
        'network',
      ),
    }),
    sign_in: section('How people sign in to the dashboard.', {
      providers: Type.Array(ProviderSchema, { default: [], description: PROVIDERS_DESCRIPTION }),
    }),
    smtp: smtpSection,
    tls: section('Certificate of this host. The files are read again when they change.', {
      cert: Type.Optional(
        Type.String({
          description: 'PEM file with the certificate chain. Default: a self-signed certificate, made once.',
        }),
      ),
      key: Type.Optional(Type.String({ description: 'PEM file with the private key.' })),
      additional: Type.Array(
        Type.Object({ cert: Type.String(), key: Type.String() }, { additionalProperties: false }),
        {
          default: [],
          description:
            'Further certificates for clients that ask for other names (SNI); the names are those in the certificate.',
        },
      ),
    }),
    acme: acmeSection,
    dns: section('Name resolution.', {
      servers: strings(
        'Resolvers, ip or ip:port, asked in this order. Default: those of /etc/resolv.conf.',
        'ip-optional-port',
      ),
      trust_ad: Type.Boolean({
        default: false,
        description:
          'The resolvers validate DNSSEC and the way to them is safe, as to an unbound on this machine: needed for DANE. Without it TLSA records are not looked at.',
      }),
    }),
    delivery: section('Delivery to mail exchangers.', {
      port: Type.Integer({
        minimum: 1,
        maximum: 65535,
        default: 25,
        description: 'Port of the mail exchangers.',
      }),
      source_ips: strings('Local addresses to send from, IPv4 and IPv6. Default: the system chooses.', 'ip'),
      warm_up: Type.Boolean({
        default: false,
        description:
          'Addresses that are new in source_ips begin with little mail and get more from day to day. Those that were there before stay as they are.',
      }),
      allow_networks: strings(
        "Networks that mail may be delivered to although they are private, loopback, link-local or otherwise special, or this machine's own addresses, in CIDR form. Mail exchangers elsewhere in such networks are refused: the owner of any domain chooses where its MX records point to.",
        'network',
      ),
      bounces: Type.Optional(
        Type.String({
          format: 'absolute-path',
          description:
            'TOML file with your own rules on what the replies of servers mean. They are asked before those that come with the program, config/bounces.toml.',
        }),
      ),
      test_domains: strings(
        'Domains whose addresses are emulated here and never dialled: delivered@, bounced@, complained@ and suppressed@, each with any +label. An empty list: none.',
        'hostname',
        ['resend.dev', 'test.posthaste.invalid'],
      ),
      feedback_id: Type.Boolean({
        default: true,
        description:
          'Add a Feedback-ID field to mail that has none, by which Gmail counts complaints: how it was submitted, a hash of the team, and transactional or broadcast.',
      }),
      max_connections: Type.Integer({
        minimum: 1,
        maximum: 2000,
        default: 100,
        description: 'SMTP connections open at once, all destinations together.',
      }),
      max_connections_per_domain: Type.Integer({
        minimum: 1,
        maximum: 500,
        default: 10,
        description:
          'SMTP connections open at once from one source address towards a mailbox provider that providers.toml says nothing of.',
      }),
      providers: Type.Optional(
        Type.String({
          format: 'absolute-path',
          description:
            'TOML file with the mailbox providers and their limits. Default: those that come with the program, config/providers.toml.',
        }),
      ),
    }),
    tls_reports: section(
      'Daily reports to recipient domains that ask for them: which connections to their mail servers failed to be secure (RFC 8460).',
      {
        from: Type.Optional(
          Type.String({
            format: 'address',
            description:
              'Address that reports come from, of a verified domain of the first team. Unset: no reports are sent; what they would say can be seen all the same.',
          }),
        ),
        contact: Type.Optional(
          Type.String({
            format: 'address',
            description: 'Address in the reports for those who have questions. Default: tls_reports.from.',
          }),
        ),
      },
    ),
    notices: section('Mail of the appliance itself to people: new passwords, invitations.', {
      from: Type.Optional(
        Type.String({
          format: 'address',
          description:
            'Address that they come from, of a verified domain of the first team. Default: posthaste@ its first verified domain.',
        }),
      ),
    }),
    webhooks: section('Webhooks.', {
      allow_networks: strings(
        "Networks in which endpoints may be although they are not public (private ones, loopback) or this machine's own, in CIDR form. To them plain http:// is allowed, too.",
        'network',
        [],
      ),
      retention_days: Type.Integer({
        minimum: 1,
        maximum: 365,
        default: 30,
        description: 'How many days events that were sent to endpoints are kept, with every attempt.',
      }),
    }),
    tracking: section('Opens and clicks, of domains that ask for it.', {
      store_ip: Type.Boolean({
        default: true,
        description:
          'Whether the addresses of people who open emails and follow links are kept, and told to webhooks. Without it they are looked at and forgotten.',
      }),
      robots: Type.Optional(
        Type.String({
          format: 'absolute-path',
          description:
            'TOML file with your own rules on which programs are no persons. They are asked before those that come with the program, config/robots.toml.',
        }),
      ),
    }),
    limits: section('Limits.', {
      rate_per_second: Type.Integer({
        minimum: 1,
        maximum: 1_000_000,
        default: 10,
        description:
          'API requests a second for one team, all its keys together. As many may come at once. The dashboard is not limited.',
      }),
      plans: Type.Optional(
        Type.String({
          format: 'absolute-path',
          description:
            'TOML file with the plans that teams can have (daily and monthly quotas). Default: those that come with the program, config/plans.toml.',
        }),
      ),
      message_bytes: Type.Integer({
        minimum: 1024,
        maximum: 268_435_456,
        default: 41_943_040,
        description: 'Largest request and largest message, attachments encoded, in bytes.',
      }),
    }),
    logs: section('Requests of apps with their answers, as the dashboard and GET /logs show them.', {
      retention_days: Type.Integer({
        minimum: 0,
        maximum: 3650,
        default: 30,
        description:
          'Days that a request is kept. Bodies are kept up to 16 KiB each, without secrets and attachments; a busy app makes some hundred megabytes a day. 0 keeps none from now on.',
      }),
    }),
    retention: section(
      'How long finished emails are kept, in days after they were accepted. What waits is never removed.',
      {
        bodies_days: Type.Integer({
          minimum: 0,
          maximum: 36_500,
          default: 30,
          description:
            'Html, text, attachments and the message itself. 0: as soon as the email is final, within the hour.',
        }),
        attempts_days: Type.Integer({
          minimum: 1,
          maximum: 36_500,
          default: 90,
          description: 'Transcripts of the conversations with mail exchangers.',
        }),
        events_days: Type.Integer({
          minimum: 1,
          maximum: 36_500,
          default: 90,
          description: 'Events: what the timeline of an email shows, and what webhooks can be sent again.',
        }),
        emails_days: Type.Integer({
          minimum: 1,
          maximum: 36_500,
          default: 365,
          description: 'Emails with all that belongs to them: recipients, states, subjects.',
        }),
        audit_days: Type.Integer({
          minimum: 0,
          maximum: 36_500,
          default: 730,
          description: 'Entries of the audit log, in days after the act. 0: for ever.',
        }),
        disk_budget_mb: Type.Optional(
          Type.Integer({
            minimum: 100,
            maximum: 1_000_000_000,
            description:
              'Megabytes (of a million bytes) that database and messages may hold. Above it the oldest bodies of finished emails go before their time. Unset: no limit but the disk.',
          }),
        ),
      },
    ),
    doctor: section('Self-checks: `posthaste doctor`, and the hourly look at the source addresses.', {
      blocklists: Type.Optional(
        Type.String({
          format: 'absolute-path',
          description:
            'TOML file with the blocklists to ask. Default: those that come with the program, config/blocklists.toml.',
        }),
      ),
      targets: Type.Optional(
        Type.String({
          format: 'absolute-path',
          description:
            'TOML file with the hosts that are asked how this machine reaches the internet. Default: those that come with the program, config/doctor.toml.',
        }),
      ),
    }),
    metrics: section('For Prometheus and load balancers: GET /metrics, /healthz and /readyz.', {
      listen: strings(
        'Addresses of a listener of its own that asks for no key, host:port; choose ones that strangers do not reach. An empty list: none. On http.listen /metrics needs a key of the team that runs the server.',
        'host-port',
      ),
    }),
    log: section('Logging to standard output.', {
      level: Type.Union(
        (['debug', 'info', 'warn', 'error'] as const).map((level) => Type.Literal(level)),
        { default: 'info', description: 'Least severe lines to print: debug, info, warn or error.' },
      ),
    }),
  },
  { additionalProperties: false },
)

/** A complete, valid configuration, defaults filled in. */
export type Config = Static<typeof ConfigSchema>
