/** Finds the configuration: a TOML file and the environment, or the sandbox's configuration. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadConfig, type LoadResult } from './load.ts'
import { createSandboxConfig } from './sandbox.ts'

export { describePostgresUrl, splitPostgresUrl, withoutPassword } from './postgres-url.ts'
export { loadBotRules } from './bot-rules.ts'
export { loadBounceRules } from './bounces.ts'
export { loadReturnedMailRules } from './returned-mail.ts'
export { formatConfigError } from './complaint.ts'
export { loadBlocklists, loadTargets, type Blocklist, type DoctorTargets } from './doctor.ts'
export { loadConfig, type LoadArgs, type LoadResult } from './load.ts'
export { loadPlans, InvalidPlans } from './plans.ts'
export { loadProviderRules } from './provider-rules.ts'
export { loadProviders, SHIPPED_PROVIDERS } from './providers.ts'
export { loadReceivers, OTHER_RECEIVER } from './receivers.ts'
export { createSandboxConfig } from './sandbox.ts'
export { completeProvider } from './sign-in.ts'
export { InvalidTable } from './tables.ts'
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
}): { sandbox: boolean; loaded: LoadResult } {
  const sandbox = file === undefined && !env.POSTHASTE_HOSTNAME && !existsSync(defaultFile)
  return { sandbox, loaded: sandbox ? createSandboxConfig({ env }) : loadConfig({ file, env, defaultFile }) }
}

/** Information about a running sandbox that commands use. */
export interface RunningSandbox {
  /** The sandbox's DNS server, `ip:port`. */
  dns: string
  /** The port of the sandbox's mail exchangers. */
  deliveryPort: number
  pid: number
}

/** Returns the path of the file in the data directory that describes a running sandbox. */
export function runningSandboxFile(dataDir: string): string {
  return join(dataDir, 'running.json')
}

/** Returns the sandbox running on this data directory; undefined when none is. */
export function readRunningSandbox(dataDir: string): RunningSandbox | undefined {
  try {
    const running = JSON.parse(readFileSync(runningSandboxFile(dataDir), 'utf8')) as RunningSandbox
    process.kill(running.pid, 0)
    return running
  } catch {
    // No file, an incomplete file or a dead process: no sandbox is running.
    return undefined
  }
}
