/** A running daemon, as shown to operators. */
export interface NodeFacts {
  /** The node's EHLO name. */
  hostname: string
  version: string
  /** The runtime version: `v24.17.0`. */
  runtime: string
  sandbox: boolean
  /** The region that the node is in; null: none. */
  region: string | null
  /** Where the region's mail leaves from if all its nodes are gone for a time; null: it waits. */
  failover: { region: string; afterMs: number } | null
  /** Unix milliseconds. */
  startedAt: number
  /** The node's listeners as origins: `https://203.0.113.7:443`, `smtp://0.0.0.0:25`, `smtps://0.0.0.0:465`. */
  listeners: string[]
  /**
   * `database`: host and name of the PostgreSQL database; null with SQLite. `schema`: number of the newest schema that
   * its version knows; null if unknown.
   */
  storage: {
    engine: 'sqlite' | 'postgres'
    dataDir: string
    database: string | null
    schema: number | null
  }
}

/**
 * Milliseconds without a heartbeat after which a node is lost, and other nodes free its leases. Longer than its term,
 * after which it is fenced, because the node needs time to notice, and clocks may differ.
 */
export const LOST_MS = 15_000

/**
 * active: it renews its entry in the database · leaving: it is stopping · stopped · lost: it disappeared, and other
 * nodes freed its deliveries in progress.
 */
export const NODE_STATES = ['active', 'leaving', 'stopped', 'lost'] as const
export type NodeState = (typeof NODE_STATES)[number]

/** One of the nodes that share a database. */
export interface NodeView extends NodeFacts {
  id: string
  /** The name of the node's machine. */
  name: string
  state: NodeState
  /** When the node last renewed its entry in the database, in Unix milliseconds; null with SQLite. */
  heartbeatAt: number | null
  /** The node's sending IPs. Every node may also use `auto`. */
  sources: string[]
  /** Whether this node handles the request. */
  current: boolean
  ready: boolean
  /** Why the node isn't ready, in sentences. */
  reasons: string[]
}

/** A TLS certificate of this server, as shown to people. Times are Unix milliseconds. */
export interface CertificateView {
  /** The certificate's first name. */
  name: string
  /** Where the certificate comes from: an ACME server (`[acme]`), a configured file, or self-signed by Posthaste. */
  source: 'authority' | 'file' | 'self_signed'
  /** Path of the certificate file; null when there is none yet. */
  file: string | null
  names: string[]
  issuer: string | null
  validFrom: number | null
  validUntil: number | null
  /** When the certificate will be renewed. */
  renewAt: number | null
  /** Consecutive failures, the last error, and the time of the next attempt. */
  failures: number
  error: string | null
  retryAt: number | null
}
