import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { formatConfigError, loadConfig, type LoadArgs } from '../../../appliance/config/config.ts'

/** Temporary configuration files, for tests of what is read from them. */

export const folder = mkdtempSync(join(tmpdir(), 'posthaste-config-'))
let count = 0

/** Writes a configuration file. Returns its path. */
function file(text: string): string {
  const path = join(folder, `${(count += 1)}.toml`)
  writeFileSync(path, text)
  return path
}

/** Loads a configuration that is valid. Throws its errors otherwise. */
export function load(text: string, env: NodeJS.ProcessEnv = {}) {
  const loaded = loadConfig({ file: file(text), env })
  if ('complaints' in loaded) throw new Error(loaded.complaints.map(formatConfigError).join('\n'))
  return loaded
}

/** Returns the errors as lines, without the file's path: `:3: …`. */
export function complaintsOf(
  text: string,
  env: NodeJS.ProcessEnv = {},
  more: Partial<LoadArgs> = {},
): string[] {
  const path = file(text)
  const loaded = loadConfig({ file: path, env, ...more })
  return 'complaints' in loaded
    ? loaded.complaints.map((one) => formatConfigError(one).replaceAll(path, ''))
    : []
}

export const minimal = 'hostname = "mail.example.com"\n'
