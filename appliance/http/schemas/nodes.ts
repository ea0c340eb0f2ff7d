import { Type, type Static } from 'typebox'
import { kind, listOf, literals, Nullable, Timestamp } from '../../api/shared.ts'

/** An element of GET /nodes. Ours. */
export const Node = Type.Object(
  {
    object: kind('node'),
    hostname: Type.String({
      description: 'The EHLO name.',
      examples: ['mail.acme.example'],
    }),
    version: Type.String({ description: 'Version of Posthaste.', examples: ['1.0.0'] }),
    runtime: Type.String({ description: 'Version of Node.js.', examples: ['v24.0.0'] }),
    sandbox: Type.Boolean({ description: 'Sandbox: no mail leaves this machine.' }),
    started_at: Timestamp,
    listeners: Type.Array(Type.String(), {
      description: 'The listeners, as origins.',
      examples: [['https://192.0.2.7:443', 'smtp://192.0.2.7:25']],
    }),
    storage: Type.Object(
      {
        engine: literals(['sqlite'], { description: 'The storage engine.' }),
        data_dir: Type.String({ description: 'The data directory.', examples: ['/var/lib/posthaste'] }),
      },
      { description: 'The storage.' },
    ),
    ready: Type.Boolean({ description: 'Whether the node accepts mail.' }),
    reasons: Type.Array(Type.String(), { description: 'Why it does not; empty if it does.' }),
  },
  { description: 'A running node.' },
)
export type Node = Static<typeof Node>
export const NodeList = listOf(Node, 'running nodes')

const Quota = (description: string) => Nullable(Type.Integer(), { description })

/** How much a team may send; part of GET /limits. */
export const Plan = Type.Object(
  {
    name: Nullable(Type.String(), { description: 'Name in plans.toml; null: not in that file.' }),
    daily: Quota('Recipients per day in UTC; null: unlimited.'),
    monthly: Quota('Recipients per month in UTC; null: unlimited.'),
  },
  { description: 'A sending plan.' },
)

/** GET /limits. Ours. */
export const Limits = Type.Object(
  {
    object: kind('limits'),
    plan: Plan,
    plans: Nullable(Type.Array(Plan), {
      description: 'All available plans, for the team that operates the server; null for others.',
    }),
    rate_per_second: Type.Integer({ description: 'Requests per second with all keys of one team.' }),
    message_bytes: Type.Integer({ description: 'Maximum size of a request and of a message.' }),
  },
  { description: 'Sending limits.' },
)
export type Limits = Static<typeof Limits>
