/** The configuration: one TOML file and the environment, or the sandbox's. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
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

/** What a running sandbox tells the commands beside it. */
export interface Running {
  /** The sandbox's name server, `ip:port`. */
  dns: string
  /** Port of its mail exchangers. */
  deliveryPort: number
  pid: number
}

/** Where a running sandbox writes that, in its data directory. */
export function runningFile(dataDir: string): string {
  return join(dataDir, 'running.json')
}

/** The sandbox that runs on this data directory; undefined when none does. */
export function readRunning(dataDir: string): Running | undefined {
  try {
    const running = JSON.parse(readFileSync(runningFile(dataDir), 'utf8')) as Running
    process.kill(running.pid, 0)
    return running
  } catch {
    // No file, half a file, or a process that is gone: all mean that no sandbox runs.
    return undefined
  }
}
