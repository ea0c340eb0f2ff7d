import { Type } from 'typebox'
import { secret, section, stringList } from './formats.ts'

/** `[acme]`. */
export const acmeSection = section(
  'Automatic TLS certificates from a certificate authority (ACME, RFC 8555). Off until agree_terms is true.',
  {
    agree_terms: Type.Boolean({
      default: false,
      description:
        "Set this to true if you agree to the certificate authority's terms of service. Let's Encrypt publishes its terms at https://letsencrypt.org/repository/.",
    }),
    directory: Type.String({
      format: 'acme-directory',
      default: 'letsencrypt',
      description:
        'The certificate authority: "letsencrypt", "letsencrypt-staging" for tests (clients do not trust its certificates), or the https:// URL of an ACME directory.',
    }),
    email: Type.Optional(
      Type.String({ format: 'address', description: 'Contact address for the certificate authority.' }),
    ),
    challenge: Type.Union([Type.Literal('http-01'), Type.Literal('tls-alpn-01'), Type.Literal('dns-01')], {
      default: 'http-01',
      description:
        'How to prove control of the names: "http-01" (port 80 of each name must reach http.listen or acme.http_listen), "tls-alpn-01" (port 443 must reach http.tls_listen) or "dns-01" (requires acme.hook).',
    }),
    names: stringList(
      'Additional names for the certificate that covers hostname. Each must resolve to this machine.',
      'hostname',
    ),
    tracking_hosts: Type.Boolean({
      default: true,
      description: 'Also get a certificate for each tracking subdomain whose DNS record is published.',
    }),
    http_listen: stringList(
      'Addresses that serve only http-01 challenges, host:port, such as 0.0.0.0:80.',
      'host-port',
    ),
    hook: Type.Optional(
      Type.String({
        format: 'absolute-path',
        description:
          'Program for dns-01. Posthaste calls it with "present" or "cleanup". The environment variables ACME_RECORD and ACME_VALUE hold the name and text of the TXT record. It must not exit until the record is visible in DNS.',
      }),
    ),
    hook_seconds: Type.Integer({
      minimum: 1,
      maximum: 3600,
      default: 120,
      description: 'Seconds that the hook may run before it is killed.',
    }),
    eab_key_id: Type.Optional(
      Type.String({
        description: 'Key ID for external account binding, if the certificate authority requires one.',
      }),
    ),
    eab_hmac_key: Type.Optional(
      Type.String({ description: 'The MAC key for eab_key_id, in base64url.', ...secret }),
    ),
    ca: Type.Optional(
      Type.String({
        format: 'absolute-path',
        description:
          "PEM file with the CA certificates to trust when connecting to a private certificate authority. Default: the runtime's CA certificates.",
      }),
    ),
  },
)
