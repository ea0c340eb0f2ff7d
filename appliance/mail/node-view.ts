/** Shows the nodes that share a database. Pure. */
import { LOST_MS, type NodeFacts, type NodeState, type NodeView } from './node.ts'

/** A node as it is stored. */
export interface KnownNode {
  id: string
  name: string
  state: 'active' | 'leaving' | 'stopped'
  startedAt: number
  heartbeatAt: number
  /** JSON of `NodeFacts`. */
  facts: string | null
  sources: string[]
}

/** Facts of a node that hasn't stored any. */
const UNKNOWN: NodeFacts = {
  hostname: '',
  version: '',
  runtime: '',
  sandbox: false,
  region: null,
  failover: null,
  startedAt: 0,
  listeners: [],
  storage: { engine: 'postgres', dataDir: '', database: null, schema: null },
}

/** Returns the state of a node. @param now Unix milliseconds; clocks of nodes differ by a second at most */
function stateOf({ state, heartbeatAt }: KnownNode, now: number): NodeState {
  return state !== 'stopped' && now - heartbeatAt >= LOST_MS ? 'lost' : state
}

/** Explains why a node doesn't accept mail; empty if it does. */
function reasonsOf(state: NodeState, { heartbeatAt }: KnownNode, now: number): string[] {
  if (state === 'active') return []
  if (state === 'leaving') return ['It is stopping.']
  if (state === 'stopped') return ['It was stopped. Mail of its sending IPs waits until it starts.']
  const seconds = Math.round((now - heartbeatAt) / 1000)
  return [
    `It last renewed its entry in the database ${seconds} s ago. Its deliveries in progress were freed. Mail of its sending IPs waits until it returns.`,
  ]
}

/**
 * Formats nodes for people.
 * @param currentId the node that handles the request
 */
export function toNodeViews(nodes: readonly KnownNode[], currentId: string | null, now: number): NodeView[] {
  return nodes.map((node) => {
    const { id, name, startedAt, heartbeatAt, sources, facts } = node
    const state = stateOf(node, now)
    const reasons = reasonsOf(state, node, now)
    // A node of an older version doesn't know all facts.
    const known = { ...UNKNOWN, ...(facts === null ? {} : (JSON.parse(facts) as Partial<NodeFacts>)) }
    const current = id === currentId
    return {
      ...known,
      id,
      name,
      state,
      startedAt,
      heartbeatAt,
      sources,
      current,
      ready: state === 'active',
      reasons,
    }
  })
}
