/** Information about this daemon: start time, listeners and storage. */
import type { Clock } from '../clock/clock.ts'
import type { Config } from '../config/config.ts'
import type { NodeFacts } from '../mail/node.ts'
import { databaseName } from './postgres.ts'
import { VERSION } from './version.ts'

/** The actual listeners of a daemon: HTTP as origins, SMTP as `host:port`. */
export interface Listening {
  http: readonly string[]
  metrics: readonly string[]
  smtp: { starttls: readonly string[]; implicitTls: readonly string[] }
}

/** Collects the information while the daemon starts. */
export interface NodeBook {
  facts(): NodeFacts
  /** Called when all listeners are open. */
  listening(doors: Listening): void
}

/** Opens the node information of this process. @param sandbox whether it uses the simulated internet */
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
      storage: {
        engine: config.storage.engine,
        dataDir: config.data_dir,
        database: config.storage.engine === 'postgres' ? databaseName(config) : null,
      },
    }),
    listening: (doors) => void (listeners = originsOf(doors)),
  }
}

/** Returns all listeners as origins. */
export const originsOf = ({ http, metrics, smtp }: Listening): string[] => [
  ...http,
  ...metrics,
  ...smtp.starttls.map((address) => `smtp://${address}`),
  ...smtp.implicitTls.map((address) => `smtps://${address}`),
]
