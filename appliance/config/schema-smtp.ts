import { Type } from 'typebox'
import { section, stringList } from './formats.ts'

/** `[smtp]`. */
export const smtpSection = section('SMTP submission and the public MX on port 25.', {
  starttls: stringList(
    'Addresses that offer STARTTLS, host:port. An empty list turns them off. If a port in the default list is not available, Posthaste logs this and starts without it. All ports in a custom list must be available.',
    'host-port',
    ['0.0.0.0:25', '0.0.0.0:587', '0.0.0.0:2587'],
  ),
  mx_port: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 65_535,
      description:
        'The port in `starttls` that receives mail without authentication. Default: 25. Change it only if a container or firewall forwards port 25 to another port.',
    }),
  ),
  implicit_tls: stringList(
    'Addresses with implicit TLS, host:port. An empty list turns them off.',
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
      description: 'Listeners without AUTH for old devices in listed networks, each bound to one API key.',
    },
  ),
  postmaster: Type.Optional(
    Type.String({
      format: 'address',
      description:
        'Address that receives mail for postmaster@ and abuse@ at hostname, your domains and their return paths. It must not be on this server. If unset, such mail is only stored, and the team that operates the server can read it under Settings, Nodes.',
    }),
  ),
  proxy_protocol_from: stringList(
    'Networks of load balancers in front of the SMTP ports, in CIDR notation. Their connections must start with a PROXY header (version 1 or 2), which Posthaste trusts.',
    'network',
  ),
  hide_client: Type.Boolean({
    default: false,
    description:
      'Hide the name and address of the submitting app from recipients. Posthaste writes Received without them and removes earlier Received, X-Received, X-Originating-IP, X-Client-IP, X-Sender-IP and X-Source-IP fields. This makes mail loops through this server harder to detect.',
  }),
  max_connections: Type.Integer({
    minimum: 10,
    maximum: 100_000,
    default: 4000,
    description:
      "Maximum number of open SMTP connections from clients, capped at 30% of the process's file descriptor limit. Unauthenticated clients can use at most 60% of them (75% with servers that delivered wanted mail before), one team at most 25%.",
  }),
  max_connections_per_address: Type.Integer({
    minimum: 1,
    maximum: 100_000,
    default: 1000,
    description:
      'Maximum number of open SMTP connections from one IPv4 address or IPv6 /48 that has authenticated within 24 hours.',
  }),
  max_unknown_connections_per_address: Type.Integer({
    minimum: 1,
    maximum: 100_000,
    default: 50,
    description: 'The same limit for addresses that have not authenticated.',
  }),
})
