import { Type } from 'typebox'
import { secret, section, strings } from './schema-parts.ts'

/** `[acme]`. */
export const acmeSection = section(
  'Certificates of an authority, had and renewed by the server itself (RFC 8555). Off until agree_terms is true.',
  {
    agree_terms: Type.Boolean({
      default: false,
      description:
        "You have read the authority's terms of service and agree. Those of Let's Encrypt are at https://letsencrypt.org/repository/.",
    }),
    directory: Type.String({
      format: 'acme-directory',
      default: 'letsencrypt',
      description:
        'The authority: "letsencrypt", "letsencrypt-staging" for trying (nobody trusts its certificates), or the https:// address of a directory.',
    }),
    email: Type.Optional(
      Type.String({ format: 'address', description: 'Where the authority may write to you.' }),
    ),
    challenge: Type.Union([Type.Literal('http-01'), Type.Literal('tls-alpn-01'), Type.Literal('dns-01')], {
      default: 'http-01',
      description:
        'How names are proved to be yours: "http-01" (port 80 of each name leads to http.listen or acme.http_listen), "tls-alpn-01" (port 443 leads to http.tls_listen) or "dns-01" (acme.hook).',
    }),
    names: strings(
      'Further names for the certificate of hostname. All of them must lead to this machine.',
      'hostname',
    ),
    tracking_hosts: Type.Boolean({
      default: true,
      description: 'Get a certificate for each tracking subdomain whose record is in place, too.',
    }),
    http_listen: strings(
      'Addresses that answer the questions of http-01 and nothing else, host:port, such as 0.0.0.0:80.',
      'host-port',
    ),
    hook: Type.Optional(
      Type.String({
        format: 'absolute-path',
        description:
          'Program for dns-01. Called with "present" or "cleanup"; ACME_RECORD and ACME_VALUE in its environment are the name and text of the TXT record. It ends when the record can be seen.',
      }),
    ),
    hook_seconds: Type.Integer({
      minimum: 1,
      maximum: 3600,
      default: 120,
      description: 'How long the hook may take before it is killed.',
    }),
    eab_key_id: Type.Optional(
      Type.String({
        description: 'Key id that the authority gave you (external account binding), where it wants one.',
      }),
    ),
    eab_hmac_key: Type.Optional(
      Type.String({ description: 'The key that belongs to eab_key_id, in base64url.', ...secret }),
    ),
    ca: Type.Optional(
      Type.String({
        format: 'absolute-path',
        description:
          'PEM file with the certificates that the server of a private authority is trusted by. Default: those that come with the runtime.',
      }),
    ),
  },
)
