import { Type } from 'typebox'
import { section } from './formats.ts'

/** `region`. */
export const regionKey = Type.Optional(
  Type.String({
    format: 'region',
    description:
      'The region that this machine is in: one of the hosted API, such as eu-west-1, or a name of your own. Nodes in other regions can take over its mail ([failover]). Which mail is sent from a region depends on the regions of the pools (docs/scaling.md).',
  }),
)

/** `[failover]`: where the mail of a lost region leaves from. */
export const failoverSection = section(
  'What happens to the mail of this region if all its nodes are gone. Only with PostgreSQL (docs/scaling.md).',
  {
    region: Type.Optional(
      Type.String({
        format: 'region',
        description:
          "The region that then sends the mail. First check that SPF records cover the other region's IPs: posthaste region preview. If unset, the mail waits until a node of its region returns. Set the same on all nodes of the region.",
      }),
    ),
    after_seconds: Type.Integer({
      minimum: 15,
      maximum: 86_400,
      default: 900,
      description:
        'How long all nodes of the region must have been stopped or lost before its mail is moved. A node is lost after 15 seconds.',
    }),
  },
)
