/** What this daemon tells of itself: when it started, where it listens, what it keeps mail in. */
import type { Clock } from '../clock/clock.ts'
import type { Config } from '../config/config.ts'
import type { NodeFacts } from '../mail/node.ts'
import { VERSION } from './version.ts'

/** Where the doors of a daemon really are: those of HTTP as origins, those of SMTP as `host:port`. */
export interface Listening {
  http: readonly string[]
  metrics: readonly string[]
  smtp: { starttls: readonly string[]; implicitTls: readonly string[] }
}

/** Filled in as the daemon starts. */
export interface NodeBook {
  facts(): NodeFacts
  /** Called when everything listens. */
  listening(doors: Listening): void
}

/** Begins the book of this process. @param sandbox whether it runs against the built-in internet */
export function openNode(config: Config, clock: Clock, sandbox: boolean): NodeBook {
  const startedAt = clock.now()
  let listeners: string[] = []
  return {
    facts: () => ({
      hostname: config.hostname,
      version: VERSION,
      runtime: process.version,
      sandbox,
      startedAt,
      listeners,
      storage: { engine: config.storage.engine, dataDir: config.data_dir },
    }),
    listening: (doors) => void (listeners = originsOf(doors)),
  }
}

/** All doors as origins, in one list. */
export const originsOf = ({ http, metrics, smtp }: Listening): string[] => [
  ...http,
  ...metrics,
  ...smtp.starttls.map((address) => `smtp://${address}`),
  ...smtp.implicitTls.map((address) => `smtps://${address}`),
]
