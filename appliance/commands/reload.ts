/** Handles SIGHUP: reloads the settings that can change while the daemon runs, and names those that need a restart. */
import { isDeepStrictEqual } from 'node:util'
import type { RunningDaemon } from '../compose.ts'
import { formatConfigError, type Config, type LoadResult } from '../config/config.ts'
import type { Logger } from '../watch/log.ts'

export interface ReloadArgs {
  appliance: Pick<RunningDaemon, 'reload'>
  /** The configuration at start. */
  running: Config
  /** Reads the configuration again. */
  reread: () => LoadResult
  log: Pick<Logger, 'info' | 'warn' | 'error'>
}

/**
 * Reloads certificates and data tables (providers, bounce rules, bots, blocklists, plans) and checks the configuration,
 * so that errors are found before the next start. Never rejects: errors are logged, and the old version stays in use.
 *
 * @returns one sentence for the service manager
 */
export async function reload({ appliance, running, reread, log }: ReloadArgs): Promise<string> {
  const said: string[] = []
  const failures = await appliance.reload()
  for (const err of failures) log.error({ err }, 'reload failed; the old version stays in use')
  said.push(failures.length === 0 ? 'Reloaded certificates and tables.' : 'Reloaded partially. See the log.')
  const loaded = reread()
  if ('complaints' in loaded) {
    for (const complaint of loaded.complaints)
      log.error(
        `the configuration has an error, so the next start would fail: ${formatConfigError(complaint)}`,
      )
    said.push('The configuration has errors. See the log.')
  } else {
    const keys = listChangedKeys(running, loaded.config)
    if (keys.length > 0) {
      log.warn({ keys }, 'these settings changed; restart to apply them')
      said.push(`Restart to apply changed settings: ${keys.join(', ')}.`)
    }
  }
  const status = said.join(' ')
  log.info(status)
  return status
}

/** Returns the names of changed settings, dotted as in the file. Pure. */
export function listChangedKeys(before: Config, after: Config): string[] {
  const [old, fresh] = [flat(before), flat(after)]
  const names = new Set([...old.keys(), ...fresh.keys()])
  return [...names].filter((name) => !isDeepStrictEqual(old.get(name), fresh.get(name))).sort()
}

function flat(config: Config): Map<string, unknown> {
  const entries = Object.entries(config).flatMap(([name, value]): [string, unknown][] =>
    typeof value === 'object' && !Array.isArray(value)
      ? Object.entries(value).map(([key, inner]): [string, unknown] => [`${name}.${key}`, inner])
      : [[name, value]],
  )
  return new Map(entries)
}
