/** SIGHUP: what can change while the daemon runs is read again; of the rest it is said that it needs a restart. */
import { isDeepStrictEqual } from 'node:util'
import type { Appliance } from '../compose.ts'
import { formatComplaint, type Config, type Loaded } from '../config/config.ts'
import type { Logger } from '../watch/log.ts'

export interface ReloadArgs {
  appliance: Pick<Appliance, 'reload'>
  /** What the daemon was started with. */
  running: Config
  /** Reads the configuration as at a start. */
  reread: () => Loaded
  log: Pick<Logger, 'info' | 'warn' | 'error'>
}

/**
 * Reads certificates and the tables of data (providers, bounce rules, robots, blocklists, plans) again and checks the configuration, so that a mistake is found before the next start.
 * Never rejects: what cannot be used is logged, and the old one stays in use.
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
      log.error(`the configuration has an error, so the next start would fail: ${formatComplaint(complaint)}`)
    said.push('The configuration has errors. See the log.')
  } else {
    const keys = changedKeys(running, loaded.config)
    if (keys.length > 0) {
      log.warn({ keys }, 'these settings changed; restart to apply them')
      said.push(`Restart to apply changed settings: ${keys.join(', ')}.`)
    }
  }
  const status = said.join(' ')
  log.info(status)
  return status
}

/** The names of the settings that differ, dotted as in the file. Pure. */
export function changedKeys(before: Config, after: Config): string[] {
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
