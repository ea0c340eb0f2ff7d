import { Type, type Static, type TSchema } from 'typebox'

/**
 * The configuration: every key with its type, default and meaning. The loader, the environment names, the
 * commented example file and the reference in docs/ are all made from this one schema.
 */

/** A list of texts of one format (formats.ts). */
const strings = (description: string, format: string, value: string[] = [], options: object = {}) =>
  Type.Array(Type.String({ format }), { default: value, description, ...options })

const section = <T extends Record<string, TSchema>>(description: string, properties: T) =>
  Type.Object(properties, { additionalProperties: false, default: {}, description })

/** Keys of the outside contract whose feature is not in this version: accepted, and said so at start. */
const later = (feature: string) => ({ later: feature })

/** Keys whose value is never repeated in a complaint. */
const secret = { secret: true }

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
    }),
    http: section('REST API and dashboard.', {
      listen: strings(
        'Addresses to listen on, host:port. The API is at the root, the dashboard under /dashboard.',
        'host-port',
        ['0.0.0.0:8025'],
        { minItems: 1 },
      ),
      public_url: Type.Optional(
        Type.String({
          format: 'origin',
          description:
            'The origin at which people and apps reach this server, for links. Default: http:// and the first listening address.',
        }),
      ),
      trust_proxy: strings(
        'Networks of reverse proxies whose X-Forwarded-For and X-Forwarded-Proto are believed, in CIDR form.',
        'network',
      ),
    }),
    smtp: section('SMTP submission.', {
      starttls: strings(
        'Addresses that offer STARTTLS, host:port. An empty list: none. A port of the default list that cannot be had is logged and left out; other lists must be had whole.',
        'host-port',
        ['0.0.0.0:25', '0.0.0.0:587', '0.0.0.0:2587'],
      ),
      implicit_tls: strings(
        'Addresses that speak TLS from the first byte, host:port. An empty list: none.',
        'host-port',
        ['0.0.0.0:465', '0.0.0.0:2465'],
      ),
      trusted: Type.Array(
        Type.Object(
          {
            listen: Type.String({ format: 'host-port' }),
            networks: Type.Array(Type.String({ format: 'network' }), { minItems: 1 }),
            api_key_id: Type.String({ format: 'id' }),
          },
          { additionalProperties: false },
        ),
        {
          default: [],
          description: 'Listeners without AUTH for old devices in named networks, each bound to one API key.',
        },
      ),
      proxy_protocol_from: strings(
        'Networks of load balancers in front of the SMTP ports, in CIDR form. Their connections must begin with a PROXY header (version 1 or 2), which is believed.',
        'network',
      ),
      max_connections: Type.Integer({
        minimum: 1,
        maximum: 100_000,
        default: 4000,
        description: 'SMTP connections from clients open at once.',
      }),
      max_connections_per_address: Type.Integer({
        minimum: 1,
        maximum: 100_000,
        default: 1000,
        description: 'SMTP connections open at once from one IPv4 address, or one /64 of IPv6.',
      }),
    }),
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
    dns: section('Name resolution.', {
      servers: strings(
        'Resolvers, ip or ip:port, asked in this order. Default: those of /etc/resolv.conf.',
        'ip-optional-port',
      ),
      trust_ad: Type.Boolean({
        default: false,
        description: 'The resolvers validate DNSSEC and the way to them is safe: needed for DANE.',
        ...later('DANE'),
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
      allow_networks: strings(
        'Networks that may be delivered to although they are loopback, link-local, unspecified or otherwise special, in CIDR form. Private networks always may.',
        'network',
      ),
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
        description: 'SMTP connections open at once towards one recipient domain.',
      }),
    }),
    webhooks: section('Webhooks.', {
      allow_networks: strings(
        'Private networks in which endpoints may be, in CIDR form.',
        'network',
        [],
        later('Webhooks'),
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
