/** A running daemon, as shown to operators. */
export interface NodeFacts {
  /** Its EHLO name. */
  hostname: string
  version: string
  /** The runtime version: `v24.17.0`. */
  runtime: string
  sandbox: boolean
  /** Unix milliseconds. */
  startedAt: number
  /** Its listeners as origins: `https://203.0.113.7:443`, `smtp://0.0.0.0:25`, `smtps://0.0.0.0:465`. */
  listeners: string[]
  /** `database`: host and name of the PostgreSQL database; null with SQLite. */
  storage: { engine: 'sqlite' | 'postgres'; dataDir: string; database: string | null }
}

/** A TLS certificate of this server, as shown to people. Times are Unix milliseconds. */
export interface CertificateView {
  /** The first of its names. */
  name: string
  /** Where it comes from: an ACME server (`[acme]`), a configured file, or self-signed by Posthaste. */
  source: 'authority' | 'file' | 'self_signed'
  /** Null when there is none yet. */
  file: string | null
  names: string[]
  issuer: string | null
  validFrom: number | null
  validUntil: number | null
  /** When it will be renewed. */
  renewAt: number | null
  /** Consecutive failures, the last error, and the time of the next attempt. */
  failures: number
  error: string | null
  retryAt: number | null
}
