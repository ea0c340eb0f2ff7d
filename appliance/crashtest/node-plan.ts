/** Plans the faults of nodes that share a PostgreSQL database. A pure function of the number of faults and the seed. */
import type { RandomGenerator } from './plan.ts'

/** A planned fault. `sinceMs`: milliseconds after the clients are allowed to send. */
export type NodeFault = { sinceMs: number } & (
  | /** SIGKILL of a node, which is started again at once, or when others have freed its leases. */ {
      kind: 'node'
      node: number
      start: 'at once' | 'when freed'
    }
    /** SIGSTOP of a node, followed by SIGCONT after `forMs`. */
  | { kind: 'pause'; node: number; forMs: number }
  /** SIGKILL of the database server, followed by a start after `downMs`. */
  | { kind: 'server'; downMs: number }
  /** SIGKILL of the database server, whose synchronous standby becomes the primary after `downMs`. */
  | { kind: 'promotion'; downMs: number }
)

type Kind = 'node, at once' | 'node, when freed' | 'pause' | 'server' | 'server, long' | 'promotion'

const KINDS: readonly Kind[] = [
  'node, when freed',
  'pause',
  'server',
  'node, at once',
  'server, long',
  'promotion',
]
/** Relative frequency of each kind, in the order of `KINDS`. */
const WEIGHTS = [3, 3, 2, 2, 1, 2]
/**
 * Duration of a pause: longer than a node works without renewing its leases. From 15 seconds, other nodes free them.
 */
const PAUSE_MS = [9000, 30_000] as const
/** Durations of short outages of the server, and of long ones, after which every node counts as lost. */
const SHORT_OUTAGE_MS = [0, 1500] as const
const LONG_OUTAGE_MS = [16_000, 25_000] as const

/** Returns the name of a fault for the report's table. */
export function formatFaultName(fault: NodeFault): string {
  if (fault.kind === 'pause') return 'node stopped and continued'
  if (fault.kind === 'node') return `node killed, started ${fault.start}`
  if (fault.kind === 'promotion') return 'standby promoted'
  return fault.downMs > SHORT_OUTAGE_MS[1] ? 'database server, long' : 'database server'
}

/** Plans the faults in order: one of each kind, then random ones. */
export function planNodeFaults(faults: number, nodes: number, dice: RandomGenerator): NodeFault[] {
  const bag = KINDS.flatMap((kind, at) => Array.from({ length: WEIGHTS[at]! }, () => kind))
  const kinds = [
    ...dice.shuffled(KINDS),
    ...Array.from(
      { length: Math.max(0, faults - KINDS.length) },
      () => bag[dice.between(0, bag.length - 1)]!,
    ),
  ]
  return kinds.slice(0, faults).map((kind) => faultOf(kind, nodes, dice))
}

function faultOf(kind: Kind, nodes: number, dice: RandomGenerator): NodeFault {
  const sinceMs = dice.between(50, 1500)
  if (kind === 'server' || kind === 'promotion')
    return { kind, sinceMs, downMs: dice.between(...SHORT_OUTAGE_MS) }
  if (kind === 'server, long') return { kind: 'server', sinceMs, downMs: dice.between(...LONG_OUTAGE_MS) }
  const node = dice.between(0, nodes - 1)
  if (kind === 'pause') return { kind, sinceMs, node, forMs: dice.between(...PAUSE_MS) }
  return { kind: 'node', sinceMs, node, start: kind === 'node, at once' ? 'at once' : 'when freed' }
}
