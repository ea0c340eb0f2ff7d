import type * as schema from '../http/schemas/nodes.ts'
import type { NodeFacts } from '../mail/node.ts'
import type { NamedPlan } from '../senders/senders.ts'
import { timestamp } from '../api/timestamp.ts'

/** An element of GET /nodes. @param health whether mail is taken, and why not */
export function presentNode(facts: NodeFacts, health: { ok: boolean; reasons: string[] }): schema.Node {
  const { hostname, version, runtime, sandbox, startedAt, listeners, storage } = facts
  return {
    object: 'node',
    ...{ hostname, version, runtime, sandbox },
    started_at: timestamp(startedAt),
    listeners,
    storage: { engine: storage.engine, data_dir: storage.dataDir },
    ready: health.ok,
    reasons: health.reasons,
  }
}

/** GET /limits. @param plans null for teams that do not run the server */
export function presentLimits(limits: {
  plan: NamedPlan
  plans: NamedPlan[] | null
  perSecond: number
  messageBytes: number
}): schema.Limits {
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
