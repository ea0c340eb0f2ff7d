/** Finds the configuration: a TOML file and the environment, or the sandbox's. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadConfig, type Loaded } from './load.ts'
import { sandboxConfig } from './sandbox.ts'

export { describePostgresUrl, splitPostgresUrl, withoutPassword } from './postgres-url.ts'
export { loadRobots } from './robots.ts'
export { loadBounces } from './bounces.ts'
export { loadReturnedMail } from './returned-mail.ts'
export { formatComplaint } from './complaint.ts'
export { loadBlocklists, loadTargets, type Blocklist, type DoctorTargets } from './doctor.ts'
export { loadConfig, type LoadArgs, type Loaded } from './load.ts'
export { loadPlans, PlansRefused } from './plans.ts'
export { loadProviderRules } from './provider-rules.ts'
export { loadProviders, SHIPPED_PROVIDERS } from './providers.ts'
export { loadReceivers, OTHER_RECEIVER } from './receivers.ts'
export { sandboxConfig } from './sandbox.ts'
export { completeProvider } from './sign-in.ts'
export { TableRefused } from './tables.ts'
export type { Config } from './schema.ts'

/** Read when no other file is given. */
const DEFAULT_FILE = '/etc/posthaste/posthaste.toml'

/**
 * Returns the configuration for a command: the given file, the default file, or the sandbox when there is neither and
 * `POSTHASTE_HOSTNAME` isn't set.
 */
export function findConfig({
  file,
  env,
  defaultFile = DEFAULT_FILE,
}: {
  file?: string | undefined
  env: NodeJS.ProcessEnv
  defaultFile?: string
}): { sandbox: boolean; loaded: Loaded } {
  const sandbox = file === undefined && !env.POSTHASTE_HOSTNAME && !existsSync(defaultFile)
  return { sandbox, loaded: sandbox ? sandboxConfig({ env }) : loadConfig({ file, env, defaultFile }) }
}

/** What a running sandbox tells commands. */
export interface Running {
  /** The sandbox's DNS server, `ip:port`. */
  dns: string
  /** The port of its mail exchangers. */
  deliveryPort: number
  pid: number
}

/** The file in the data directory in which a running sandbox publishes this. */
export function runningFile(dataDir: string): string {
  return join(dataDir, 'running.json')
}

/** Returns the sandbox running on this data directory; undefined when none is. */
export function readRunning(dataDir: string): Running | undefined {
  try {
    const running = JSON.parse(readFileSync(runningFile(dataDir), 'utf8')) as Running
    process.kill(running.pid, 0)
    return running
  } catch {
    // No file, an incomplete file or a dead process: no sandbox is running.
    return undefined
  }
}
