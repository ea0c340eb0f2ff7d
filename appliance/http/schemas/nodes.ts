import { Type, type Static } from 'typebox'
import { kind, listOf, literals, Nullable, Timestamp } from './shared.ts'

/** An element of GET /nodes. Ours. */
export const Node = Type.Object(
  {
    object: kind('node'),
    hostname: Type.String({
      description: 'The name that it says to other mail servers.',
      examples: ['mail.acme.example'],
    }),
    version: Type.String({ description: 'Of the program.', examples: ['1.0.0'] }),
    runtime: Type.String({ description: 'The version of Node that it runs on.', examples: ['v24.0.0'] }),
    sandbox: Type.Boolean({ description: 'No mail leaves this machine.' }),
    started_at: Timestamp,
    listeners: Type.Array(Type.String(), {
      description: 'Where it listens, as origins.',
      examples: [['https://192.0.2.7:443', 'smtp://192.0.2.7:25']],
    }),
    storage: Type.Object(
      {
        engine: literals(['sqlite', 'postgres'], { description: 'What mail is kept in.' }),
        data_dir: Type.String({ description: 'The data directory.', examples: ['/var/lib/posthaste'] }),
      },
      { description: 'Where mail is kept.' },
    ),
    ready: Type.Boolean({ description: 'Whether mail is taken now.' }),
    reasons: Type.Array(Type.String(), { description: 'Why it is not; empty when it is.' }),
  },
  { description: 'A running daemon.' },
)
export type Node = Static<typeof Node>
export const NodeList = listOf(Node, 'running daemons')

const Quota = (description: string) => Nullable(Type.Integer(), { description })

/** How much a team may send; part of GET /limits. */
export const Plan = Type.Object(
  {
    name: Nullable(Type.String(), { description: 'In plans.toml; null: it is not in that file.' }),
    daily: Quota('Recipients in a day of UTC; null: any number.'),
    monthly: Quota('Recipients in a month of UTC; null: any number.'),
  },
  { description: 'How much a team may send.' },
)

/** GET /limits. Ours. */
export const Limits = Type.Object(
  {
    object: kind('limits'),
    plan: Plan,
    plans: Nullable(Type.Array(Plan), {
      description: 'All that a team can be given, for the team that runs the server; null for others.',
    }),
    rate_per_second: Type.Integer({ description: 'Requests with the keys of one team, in a second.' }),
    message_bytes: Type.Integer({ description: 'Of the largest request, and of the largest message.' }),
  },
  { description: 'How much may be sent, and how fast.' },
)
export type Limits = Static<typeof Limits>
