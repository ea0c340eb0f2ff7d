import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { formatConfigError, loadConfig } from '../../../appliance/config/config.ts'
import { renderExampleConfig } from '../../../scripts/generators/configuration.ts'
import { complaintsOf, folder, load, minimal } from './configuration-files.ts'

describe('a valid configuration', () => {
  test('requires only a hostname and fills in every default', () => {
    expect(load(minimal).config).toEqual({
      hostname: 'mail.example.com',
      data_dir: '/var/lib/posthaste',
      failover: { after_seconds: 900 },
      storage: { engine: 'sqlite', bodies: 'engine', min_free_mb: 64, reserve_mb: 16 },
      s3: { region: 'us-east-1', prefix: 'posthaste/', path_style: true, larger_than_kb: 64 },
      http: {
        listen: ['0.0.0.0:8025'],
        tls_listen: [],
        admin_listen: [],
        admin_tls_listen: [],
        hsts_days: 0,
        trust_proxy: [],
        max_connections: 2000,
        max_connections_per_address: 1000,
        max_unknown_connections_per_address: 200,
      },
      sign_in: { providers: [] },
      inbound: {
        dnsbl: [],
        dnsbl_allow: [],
        rspamd_unavailable: 'accept',
        milters: [],
        milter_unavailable: 'accept',
      },
      smtp: {
        starttls: ['0.0.0.0:25', '0.0.0.0:587', '0.0.0.0:2587'],
        implicit_tls: ['0.0.0.0:465', '0.0.0.0:2465'],
        trusted: [],
        proxy_protocol_from: [],
        hide_client: false,
        max_connections: 4000,
        max_connections_per_address: 1000,
        max_unknown_connections_per_address: 50,
      },
      tls: { additional: [] },
      acme: {
        agree_terms: false,
        directory: 'letsencrypt',
        challenge: 'http-01',
        names: [],
        tracking_hosts: true,
        http_listen: [],
        hook_seconds: 120,
      },
      dns: { servers: [], trust_ad: false },
      delivery: {
        port: 25,
        source_ips: [],
        allow_networks: [],
        max_connections: 100,
        max_connections_per_domain: 10,
        feedback_id: true,
        warm_up: false,
        test_domains: ['resend.dev', 'test.posthaste.invalid'],
      },
      alerts: expect.any(Object) as object,
      nameserver: { listen: [], names: [], rotate_days: 90 },
      metrics: { listen: [] },
      notices: {},
      retention: { bodies_days: 30, attempts_days: 90, events_days: 90, emails_days: 365, audit_days: 730 },
      secrets: {},
      tracking: { store_ip: true },
      doctor: {},
      tls_reports: {},
      webhooks: { allow_networks: [], retention_days: 30 },
      limits: { rate_per_second: 10, message_bytes: 41_943_040 },
      log: { level: 'info' },
      logs: { retention_days: 30 },
    })
  })

  test('reads values from the file', () => {
    const { config, source } = load(
      `hostname = "MAIL.Example.com"
[http]
listen = ["127.0.0.1:9000", "[::1]:9000", "localhost:9001"]
public_url = "https://mail.example.com/"
[dns]
servers = ["127.0.0.1", "::1", "[::1]:5353"]
[delivery]
source_ips = ["192.0.2.1", "2001:db8::1"]
allow_networks = ["127.0.0.0/8", "fd00::/8", "192.0.2.7"]
`,
    )
    expect(source).toMatch(/\.toml$/)
    expect(config.hostname).toBe('mail.example.com')
    expect(config.http.public_url).toBe('https://mail.example.com')
    expect(config.http.listen).toEqual(['127.0.0.1:9000', '[::1]:9000', 'localhost:9001'])
    expect(config.delivery.allow_networks).toEqual(['127.0.0.0/8', 'fd00::/8', '192.0.2.7'])
  })

  test('two loads do not share default lists', () => {
    load(minimal).config.dns.servers.push('changed')
    expect(load(minimal).config.dns.servers).toEqual([])
  })

  test('the configuration can come from the environment alone when there is no default file', () => {
    const loaded = loadConfig({
      env: { POSTHASTE_HOSTNAME: 'mx.example.net' },
      defaultFile: join(folder, 'none'),
    })
    expect(loaded).toMatchObject({ config: { hostname: 'mx.example.net' }, source: null, notes: [] })
  })
})

describe('the environment', () => {
  const env = {
    POSTHASTE_HOSTNAME: 'env.example.com',
    POSTHASTE_HTTP__LISTEN: '127.0.0.1:1, [::1]:2',
    POSTHASTE_DNS__SERVERS: '["127.0.0.1:53","::1"]',
    POSTHASTE_DELIVERY__PORT: '2525',
    POSTHASTE_DNS__TRUST_AD: 'true',
    POSTHASTE_LIMITS__RATE_PER_SECOND: '5',
    POSTHASTE_LOG__LEVEL: '',
    OTHER: 'x',
  }

  test('environment variables override the file, with lists, numbers and booleans', () => {
    const { config } = load(`${minimal}[delivery]\nport = 26\n[log]\nlevel = "warn"\n`, env)
    expect(config.hostname).toBe('env.example.com')
    expect(config.http.listen).toEqual(['127.0.0.1:1', '[::1]:2'])
    expect(config.dns).toEqual({ servers: ['127.0.0.1:53', '::1'], trust_ad: true })
    expect(config.delivery.port).toBe(2525)
    expect(config.limits.rate_per_second).toBe(5)
    expect(config.log.level).toBe('warn')
  })

  test('an environment variable can be a list that begins with a bracketed address', () => {
    expect(load(minimal, { POSTHASTE_HTTP__LISTEN: '[::1]:1' }).config.http.listen).toEqual(['[::1]:1'])
  })

  test('an environment variable can contain tables as JSON', () => {
    const trusted = [
      {
        listen: '10.0.0.5:2525',
        networks: ['10.0.0.0/24'],
        api_key_id: '0197c3e2-5a71-7000-8000-1c2d3e4f5061',
      },
    ]
    expect(load(minimal, { POSTHASTE_SMTP__TRUSTED: JSON.stringify(trusted) }).config.smtp.trusted).toEqual(
      trusted,
    )
  })

  test('an environment variable overrides an invalid value in the file', () => {
    expect(load('hostname = 5', { POSTHASTE_HOSTNAME: 'a.example.com' }).config.hostname).toBe(
      'a.example.com',
    )
  })

  test('errors in the environment are reported with the name of the variable', () => {
    expect(
      complaintsOf(minimal, {
        POSTHASTE_DELIVERY__PORT: 'abc',
        POSTHASTE_DNS__TRUST_AD: 'yes',
        POSTHASTE_HTTP__LISTNE: 'x',
        POSTHASTE_HOSTNAM: 'x',
        POSTHASTE_A__B: 'x',
      }),
    ).toEqual([
      'POSTHASTE_HTTP__LISTNE: unknown setting. Did you mean POSTHASTE_HTTP__LISTEN?',
      'POSTHASTE_HOSTNAM: unknown setting. Did you mean POSTHASTE_HOSTNAME?',
      'POSTHASTE_A__B: unknown setting.',
      'POSTHASTE_DNS__TRUST_AD: dns.trust_ad is "yes"; expected true or false.',
      'POSTHASTE_DELIVERY__PORT: delivery.port is "abc"; expected a whole number from 1 to 65535.',
    ])
  })

  test('does not read or report POSTHASTE_MASTER_KEY, which is not a setting', () => {
    const loaded = load(minimal, { POSTHASTE_MASTER_KEY: 'never shown' })
    expect(JSON.stringify(loaded)).not.toContain('never shown')
    expect(loaded).toMatchObject({ notes: [] })
  })

  test('ignores variables set by container platforms, and returns a note about them', () => {
    expect(load(minimal, { POSTHASTE_SERVICE_HOST: '10.0.0.1', POSTHASTE_PORT_8025_TCP: 'x' }).notes).toEqual(
      [
        'The environment variable POSTHASTE_SERVICE_HOST is not a Posthaste setting and was ignored.',
        'The environment variable POSTHASTE_PORT_8025_TCP is not a Posthaste setting and was ignored.',
      ],
    )
  })

  test('an error never contains a secret', () => {
    const [complaint] = complaintsOf(`${minimal}[acme]\neab_hmac_key = ["hunter2"]\n`)
    expect(complaint).toBe(':3: acme.eab_hmac_key is a value (hidden); expected a string.')
  })
})

describe('configuration errors', () => {
  test('all errors are reported at once, from top to bottom, with key and line', () => {
    const text = `hostnme = "mail.example.com"
data_dir = "relative"

[http]
listen = [
  "0.0.0.0:8025",
  "0.0.0.0:99999",
]
public_url = "https://mail.example.com/mail"
[htpt]
listen = []
[delivery]
port = "25"
source_ips = ["192.0.2.300"]
allow_networks = ["10.0.0.0/33"]
patience = 5
[log]
level = "verbose"
`
    expect(complaintsOf(text)).toEqual([
      ':1: unknown key hostnme. Did you mean hostname?',
      ':2: data_dir is "relative"; expected an absolute path such as /var/lib/posthaste.',
      ':5: http.listen[1] is "0.0.0.0:99999"; expected an address with a port, such as 0.0.0.0:8025 or [::]:8025.',
      ':9: http.public_url is "https://mail.example.com/mail"; expected an origin such as https://mail.example.com, without a path.',
      ':10: unknown key htpt. Did you mean http?',
      ':13: delivery.port is "25"; expected a whole number from 1 to 65535.',
      ':14: delivery.source_ips[0] is "192.0.2.300"; expected an IP address such as 192.0.2.1 or 2001:db8::1.',
      ':15: delivery.allow_networks[0] is "10.0.0.0/33"; expected a network such as 10.0.0.0/8 or fd00::/8.',
      ':16: unknown key delivery.patience.',
      ':18: log.level is "verbose"; expected "debug", "info", "warn" or "error".',
      expect.stringMatching(/^hostname is missing: .* Set it in .* or as POSTHASTE_HOSTNAME\.$/),
    ])
  })

  test.each([
    ['mail', '"mail"'],
    ['192.0.2.1', '"192.0.2.1"'],
    ['mail.example.com.', '"mail.example.com."'],
    ['mail_1.example.com', '"mail_1.example.com"'],
    ['-a.example.com', '"-a.example.com"'],
    ['', '""'],
  ])('rejects the hostname %j', (hostname, found) => {
    expect(complaintsOf(`hostname = "${hostname}"`)).toEqual([
      `:1: hostname is ${found}; expected a fully qualified hostname such as mail.example.com.`,
    ])
  })

  test.each([
    'mail.example.com',
    'ftp://mail.example.com',
    'https://u:p@mail.example.com',
    'https://a.example/?x',
    'https://',
  ])('rejects the public_url %s', (url) => {
    expect(complaintsOf(`${minimal}[http]\npublic_url = "${url}"`)).toHaveLength(1)
  })

  test.each([
    '8025',
    ':8025',
    '0.0.0.0',
    '::1:8025',
    '[::1]',
    '[1.2.3.4]:5',
    '0.0.0.0:x',
    'a b:1',
    '300.1.1.1:1',
  ])('rejects the listening address %s', (address) => {
    expect(complaintsOf(`${minimal}[http]\nlisten = ["${address}"]`)).toHaveLength(1)
  })

  test('reports a TOML syntax error with line and column, and no errors that follow from it', () => {
    expect(complaintsOf('hostname = "mail.example.com"\n[http\nlisten = 5\n')).toEqual([
      expect.stringMatching(/^:2: not TOML at column \d+: .+\.$/),
    ])
  })

  test('reports a key that is set twice', () => {
    expect(complaintsOf(`${minimal}${minimal}`)).toEqual([
      expect.stringMatching(/^:2: not TOML at column 1: /),
    ])
  })

  test('suggests the right section for a key in the wrong one', () => {
    expect(complaintsOf(`${minimal}listen = ["0.0.0.0:1"]\n[http]\nport = 80`)).toEqual([
      ':2: unknown key listen. Did you mean http.listen?',
      ':4: unknown key http.port. Did you mean delivery.port?',
    ])
  })

  test('reports errors in tables of a list at their own lines', () => {
    const text = `${minimal}
[[smtp.trusted]]
listen = "10.0.0.5:2525"
networks = ["10.0.0.0/24"]
api_key_id = "0197c3e2-5a71-7000-8000-1c2d3e4f5061"

[[smtp.trusted]]
listen = "10.0.0.6"
network = []
api_key_id = "0197c3e2-5a71-7000-8000-1c2d3e4f5061"
`
    expect(complaintsOf(text)).toEqual([
      ':8: smtp.trusted[1].networks is missing; expected a list of one or more networks, such as 10.0.0.0/8 or fd00::/8.',
      ':9: smtp.trusted[1].listen is "10.0.0.6"; expected an address with a port, such as 0.0.0.0:8025 or [::]:8025.',
      ':10: smtp.trusted[1].network is an unknown key; expected listen, networks, api_key_id.',
    ])
  })

  test('reports conflicting settings of an identity provider', () => {
    const text = `${minimal}
[[sign_in.providers]]
id = "google"
preset = "google"
client_id = "x"
client_secret = "do not show"
join = { role = "viewer" }

[[sign_in.providers]]
id = "google"
preset = "github"
client_id = "x"
client_secret = "do not show"
client_secret_file = "/etc/secret"
link_by_email = true

[[sign_in.providers]]
id = "corp"
client_id = "x"
`
    const complaints = complaintsOf(text)
    expect(complaints).toEqual([
      ':3: sign_in.providers requires http.public_url, or http.admin_url if the dashboard has a separate origin. Providers redirect to that address.',
      ':8: sign_in.providers[0].join requires allowed_domains with the preset "google", because anyone can create a Google account.',
      ':11: sign_in.providers[1].id is "google" again; each provider needs a unique id.',
      ':14: sign_in.providers[1].client_secret and client_secret_file are both set. Keep only one.',
      ':16: sign_in.providers[1].link_by_email cannot be used with the preset "github": GitHub keeps an address verified even after its owner loses it.',
      ':18: sign_in.providers[2].issuer is missing: the URL of the provider, such as https://login.example.com.',
      ':18: sign_in.providers[2].client_secret is missing: set it or client_secret_file.',
    ])
  })

  test.each(['http://login.example.com', 'login.example.com', 'https://login.example.com/?x=1'])(
    'rejects the issuer %s, and never shows a secret',
    (issuer) => {
      const text = `${minimal}\n[[sign_in.providers]]\nid = "a"\nclient_id = "x"\nclient_secret = 5\nissuer = "${issuer}"\n`
      const [secret, address] = complaintsOf(text)
      expect(secret).toBe(':6: sign_in.providers[0].client_secret is a value (hidden); expected a string.')
      expect(address).toContain(`sign_in.providers[0].issuer is "${issuer}"; expected a URL such as`)
    },
  )

  test('finds the line of dotted, quoted and inline keys, past multi-line strings', () => {
    expect(
      complaintsOf(`note = """
hostname = "in a string"
"""
log.level = 1
"hostname" = 2
http = { listen = [] }
`),
    ).toEqual([
      ':1: unknown key note.',
      ':4: log.level is 1; expected "debug", "info", "warn" or "error".',
      ':5: hostname is 2; expected a fully qualified hostname such as mail.example.com.',
      ':6: http.listen is an empty list; expected a list of one or more addresses with ports, such as 0.0.0.0:8025 or [::]:8025.',
    ])
  })

  test('reports an unknown key whatever characters it contains', () => {
    expect(complaintsOf(`${minimal}"a[b" = 1\n"__proto__" = 2\nconstructor = 3\n`)).toEqual([
      expect.stringContaining('unknown key a[b.'),
      expect.stringContaining('unknown key __proto__.'),
      expect.stringContaining('unknown key constructor.'),
    ])
  })

  test('reports a section that is written as a value', () => {
    expect(complaintsOf(`${minimal}http = 80`)).toEqual([
      ':2: http is a section. Write [http] before its keys.',
    ])
  })

  test('an unknown storage engine is reported with the available ones', () => {
    expect(complaintsOf(`${minimal}[storage]\nengine = "mysql"\n`)).toEqual([
      ':3: storage.engine is "mysql"; expected "sqlite" or "postgres".',
    ])
  })

  test('reports conflicting settings', () => {
    expect(
      complaintsOf(`${minimal}[tls]
cert = "/a.pem"
[delivery]
max_connections = 5
`),
    ).toEqual([
      ':3: tls.cert and tls.key belong together: set both or neither.',
      ':5: delivery.max_connections_per_domain is 10, more than delivery.max_connections (5).',
    ])
  })

  test('reports a missing configuration file', () => {
    const loaded = loadConfig({ file: join(folder, 'none.toml'), env: {} })
    expect('complaints' in loaded && loaded.complaints.map(formatConfigError)).toEqual([
      `${folder}/none.toml: file not found.`,
    ])
  })

  test('reports an unreadable configuration file', () => {
    const loaded = loadConfig({ file: folder, env: {} })
    const said = 'complaints' in loaded && loaded.complaints.map(formatConfigError)
    expect(said).toEqual([`${folder}: it cannot be read (EISDIR).`])
  })
})

describe('the generated files', () => {
  test('the generated example is valid as it is, and with every line uncommented', () => {
    const example = renderExampleConfig()
    const bare = load(example)
    expect(bare.notes).toEqual([])
    expect(bare.config).toEqual(load(minimal).config)
    // The keys of PostgreSQL belong to its engine only.
    // Only one of the two settings of the bucket's secret may be set.
    const on = example
      .replaceAll(/^#(?!secret_access_key =)(\w+ = )/gm, '$1')
      .replace('engine = "sqlite"', 'engine = "postgres"')
    const all = load(on)
    expect(all.config).toMatchObject({ storage: { engine: 'postgres' }, http: { listen: ['0.0.0.0:8025'] } })
  })
})
