import { Type } from 'typebox'
import { section, stringList } from './formats.ts'

/** `[nameserver]`. */
export const nameserverSection = section(
  'An authoritative DNS server for one delegated zone, in which Posthaste publishes the DKIM keys of sending domains (docs/nameserver.md). Off until zone is set.',
  {
    zone: Type.Optional(
      Type.String({
        format: 'hostname',
        description:
          'The zone to serve, such as dns.mail.example.com. Delegate it to this server in the zone above it. It must not contain hostname.',
      }),
    ),
    listen: stringList(
      'Addresses to answer DNS queries on, host:port, over UDP and TCP, such as 203.0.113.5:53. An empty list turns the server off on this node.',
      'host-port',
    ),
    names: stringList(
      'Names of the DNS servers, for the NS records. Each must have address records outside zone. Default: hostname.',
      'hostname',
    ),
    rotate_days: Type.Integer({
      minimum: 14,
      maximum: 3650,
      default: 90,
      description: 'Days after which the DKIM keys of domains that use the zone are replaced.',
    }),
  },
)
