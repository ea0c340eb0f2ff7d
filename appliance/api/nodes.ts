import { Type, type Static } from 'typebox'
import { array, boolean, integer, kind, literals, Nullable, object, string } from './schemas.ts'
import { Deleted, listOf, Timestamp } from './shared.ts'
import { path, pathText } from './parameters.ts'
import type { NodeView } from '../mail/node.ts'
import type { NamedPlan } from '../senders/senders.ts'
import { timestamp, timestampOrNull } from './timestamp.ts'
import { operationsIn } from './operation.ts'

/** An element of GET /nodes. Not part of the hosted API. */
export const Node = object('A node.', {
  object: kind('node'),
  id: string('The id of the node.', { examples: ['5f2b1c9a7d3e4f60'] }),
  name: string('The name of its machine.', { examples: ['mail1'] }),
  state: literals(
    ['active', 'leaving', 'stopped', 'lost'],
    '`leaving`: it is stopping. `lost`: it disappeared, and other nodes took over its deliveries in progress.',
  ),
  current: boolean('Whether this node answered the request.'),
  heartbeat_at: Nullable(Timestamp, 'When it last renewed its entry in the database; null with SQLite.'),
  sources: array(Type.String(), 'Its sending IPs. Every node may also use `auto`.', {
    examples: [['192.0.2.7']],
  }),
  region: Nullable(Type.String(), {
    description: 'The region that it is in; null: none.',
    examples: ['eu-west-1'],
  }),
  hostname: string('The EHLO name.', { examples: ['mail.acme.example'] }),
  version: string('Version of Posthaste.', { examples: ['1.0.0'] }),
  runtime: string('Version of Node.js.', { examples: ['v24.0.0'] }),
  sandbox: boolean('Sandbox: no mail leaves this machine.'),
  started_at: Timestamp,
  listeners: array(Type.String(), 'The listeners, as origins.', {
    examples: [['https://192.0.2.7:443', 'smtp://192.0.2.7:25']],
  }),
  storage: object('The storage.', {
    engine: literals(['sqlite', 'postgres'], 'The storage engine.'),
    data_dir: string('The data directory.', { examples: ['/var/lib/posthaste'] }),
    database: Nullable(Type.String(), {
      description: 'Host and name of the PostgreSQL database; null with SQLite.',
      examples: [null],
    }),
    schema: Nullable(Type.Integer(), {
      description:
        'Number of the newest database schema that its version knows; null if it is unknown. Nodes with neighboring versions can share a database.',
      examples: [3],
    }),
  }),
  ready: boolean('Whether the node accepts mail.'),
  reasons: array(Type.String(), 'Why it does not; empty if it does.'),
})
export type Node = Static<typeof Node>
export const NodeList = listOf(Node, 'nodes of the database')

export const NodeDeleted = object('The removed node.', {
  object: kind('node'),
  id: string('The id of the node.', { examples: ['5f2b1c9a7d3e4f60'] }),
  deleted: Deleted,
})

const Quota = (description: string) => Nullable(Type.Integer(), description)

/** The sending limits of a team; part of GET /limits. */
export const Plan = object('A sending plan.', {
  name: Nullable(Type.String(), 'Name in plans.toml; null: not in that file.'),
  daily: Quota('Recipients per day in UTC; null: unlimited.'),
  monthly: Quota('Recipients per month in UTC; null: unlimited.'),
})

/** GET /limits. Not part of the hosted API. */
export const Limits = object('Sending limits.', {
  object: kind('limits'),
  plan: Plan,
  plans: Nullable(
    Type.Array(Plan),
    'All available plans, for the team that operates the server; null for others.',
  ),
  rate_per_second: integer('Requests per second with all keys of one team.'),
  message_bytes: integer('Maximum size of a request and of a message.'),
})
export type Limits = Static<typeof Limits>

const serviceOperation = operationsIn('Service')
const usageOperation = operationsIn('Usage')

export const listNodes = serviceOperation('GET /nodes', {
  summary: 'List nodes',
  description:
    'All nodes that share the database, with their state, start time, listeners and sending IPs. For the team that operates the server. Not part of the hosted API.',
  response: { 200: NodeList },
})
export const deleteNode = serviceOperation('DELETE /nodes/:id', {
  summary: 'Remove a node',
  description:
    'Removes a node that will not return, and its sending IPs, and frees its deliveries in progress. Only stopped and lost nodes can be removed. For the team that operates the server. Not part of the hosted API.',
  params: path({ id: pathText('The id of the node.') }),
  response: { 200: NodeDeleted },
  errors: ['409'],
})
export const getLimits = usageOperation('GET /limits', {
  summary: 'Get sending limits',
  description: "The team's plan and rate limit, and the maximum message size. Not part of the hosted API.",
  response: { 200: Limits },
})

/** Formats an element of GET /nodes. */
export function presentNode(node: NodeView): Node {
  const { hostname, version, runtime, sandbox, startedAt, listeners, storage } = node
  const { id, name, state, current, sources } = node
  return {
    object: 'node',
    id,
    name,
    state,
    current,
    heartbeat_at: timestampOrNull(node.heartbeatAt),
    sources,
    region: node.region,
    hostname,
    version,
    runtime,
    sandbox,
    started_at: timestamp(startedAt),
    listeners,
    storage: {
      engine: storage.engine,
      data_dir: storage.dataDir,
      database: storage.database,
      schema: storage.schema ?? null,
    },
    ready: node.ready,
    reasons: node.reasons,
  }
}

/** Formats the response of GET /limits. @param plans null for teams that don't run the server */
export function presentLimits(limits: {
  plan: NamedPlan
  plans: NamedPlan[] | null
  perSecond: number
  messageBytes: number
}): Limits {
  const { plan, plans, perSecond, messageBytes } = limits
  return {
    object: 'limits',
    plan: presentPlan(plan),
    plans: plans?.map(presentPlan) ?? null,
    rate_per_second: perSecond,
    message_bytes: messageBytes,
  }
}

const presentPlan = ({ name, daily, monthly }: NamedPlan) => ({ name, daily, monthly })
