/** The configuration: one TOML file and the environment, or the sandbox's. */
import { existsSync } from 'node:fs'
import { loadConfig, type Loaded } from './load.ts'
import { sandboxConfig } from './sandbox.ts'

export { loadRobots } from './robots.ts'
export { loadBounces } from './bounces.ts'
export { loadReturnedMail } from './returned-mail.ts'
export { formatComplaint } from './complaint.ts'
export { loadBlocklists, loadTargets, type Blocklist, type DoctorTargets } from './doctor.ts'
export { loadConfig, type LoadArgs, type Loaded } from './load.ts'
export { loadPlans, PlansRefused } from './plans.ts'
export { loadProviders, SHIPPED_PROVIDERS } from './providers.ts'
export { sandboxConfig } from './sandbox.ts'
export { readRunning, runningFile, type Running } from './running.ts'
export { completeProvider } from './sign-in.ts'
export { TableRefused } from './tables.ts'
export type { Config } from './schema.ts'

/** Read when no other file is asked for. */
const DEFAULT_FILE = '/etc/posthaste/posthaste.toml'

/**
 * The configuration that a command works with: the file asked for, the default file, or, when there is neither and no
 * `POSTHASTE_HOSTNAME`, the sandbox.
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
