/** A running daemon, as those who run it are shown it. */
export interface NodeFacts {
  /** Its EHLO name. */
  hostname: string
  version: string
  /** The runtime: `v24.17.0`. */
  runtime: string
  sandbox: boolean
  /** Unix milliseconds. */
  startedAt: number
  /** Where it listens, as origins: `https://203.0.113.7:443`, `smtp://0.0.0.0:25`, `smtps://0.0.0.0:465`. */
  listeners: string[]
  storage: { engine: 'sqlite'; dataDir: string }
}
