import { Type } from 'typebox'
import { section, strings } from './schema-parts.ts'

/** `[smtp]`. */
export const smtpSection = section('SMTP submission, and the public MX at port 25.', {
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
  postmaster: Type.Optional(
    Type.String({
      format: 'address',
      description:
        'Address to which mail for postmaster@ and abuse@ is forwarded: of hostname, of your domains and of their return paths. It must not lead back to this server. Unset: such mail is only kept, for the team that runs the server to read under Settings, Nodes.',
    }),
  ),
  proxy_protocol_from: strings(
    'Networks of load balancers in front of the SMTP ports, in CIDR form. Their connections must begin with a PROXY header (version 1 or 2), which is believed.',
    'network',
  ),
  hide_client: Type.Boolean({
    default: false,
    description:
      'Keep the name and address of the submitting app from recipients: Received is written without them, and earlier Received, X-Received, X-Originating-IP, X-Client-IP, X-Sender-IP and X-Source-IP fields are removed. Mail loops through this server are then harder to detect.',
  }),
  max_connections: Type.Integer({
    minimum: 10,
    maximum: 100_000,
    default: 4000,
    description:
      'SMTP connections from clients open at once. Lowered to 30% of the file descriptors that the process may have. 60% at most are for clients that have not signed in, 25% for one team.',
  }),
  max_connections_per_address: Type.Integer({
    minimum: 1,
    maximum: 100_000,
    default: 1000,
    description:
      'SMTP connections open at once from one IPv4 address, or one /48 of IPv6, where somebody has signed in within 24 hours.',
  }),
  max_unknown_connections_per_address: Type.Integer({
    minimum: 1,
    maximum: 100_000,
    default: 50,
    description: 'The same for addresses where nobody has.',
  }),
})
