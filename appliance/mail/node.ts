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
  storage: { engine: 'sqlite'; dataDir: string }
}
