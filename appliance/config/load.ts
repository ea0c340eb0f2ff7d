/** Loads the configuration from a TOML file and the environment, and reports all errors at once. */
import { readFileSync } from 'node:fs'
import { parse, TomlError } from 'smol-toml'
import { checkValue, isTable } from './check-value.ts'
import { sortConfigErrors, type ConfigError } from './complaint.ts'
import { readEnvironment, type ConfiguredValue, findClosestMatch } from './environment.ts'
import { KEYS, SECTIONS, type Key } from './keys.ts'
import { findKeyLines, findLine } from './locate.ts'
import { crossCheck } from './cross-check.ts'
import type { Config } from './schema.ts'

export interface LoadArgs {
  /** Path of the file if the user specified one; it must exist. */
  file?: string | undefined
  env: NodeJS.ProcessEnv
  /** Path of the file that is read if it exists and the user specified none. */
  defaultFile?: string
  /** Overrides of the schema's defaults, by dotted name. */
  defaults?: Record<string, unknown>
}

export type LoadResult =
  | { config: Config; source: string | null; notes: string[] }
  /** Errors, at least one, in the order of the file, then the environment. */
  | { complaints: ConfigError[] }

/**
 * Loads the configuration. Environment variables override the file, which overrides the defaults.
 * `notes` are sentences for the log.
 */
export function loadConfig({
  file,
  env,
  defaultFile = '/etc/posthaste/posthaste.toml',
  defaults = {},
}: LoadArgs): LoadResult {
  const complaints: ConfigError[] = []
  const path = file ?? defaultFile
  const text = readText(path, file !== undefined, complaints)
  const fromFile = text === null ? new Map<string, ConfiguredValue>() : readToml(text, path, complaints)
  const unread = complaints.some(({ key }) => key === null)
  const fromEnvironment = readEnvironment(env, complaints)
  const given = new Map([...fromFile, ...fromEnvironment.given])
  const values = new Map<string, unknown>()
  for (const key of KEYS) {
    const value = given.get(key.name)
    const standard = defaults[key.name] ?? key.schema.default
    if (value) complaints.push(...checkGiven(key, value))
    else if (standard === undefined && key.required && !unread) complaints.push(missing(key, path))
    values.set(key.name, value ? value.value : structuredClone(standard))
  }
  if (complaints.length === 0) complaints.push(...crossCheck(values, given))
  if (complaints.length > 0) return { complaints: sortConfigErrors(complaints) }
  return {
    config: assemble(values),
    source: text === null ? null : path,
    notes: fromEnvironment.notes,
  }
}

function readText(file: string, demanded: boolean, complaints: ConfigError[]): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' && !demanded) return null
    const hint = code === 'EACCES' ? "; run this as root or as the service's user" : ''
    const why = code === 'ENOENT' ? 'file not found' : `it cannot be read (${code ?? String(error)})${hint}`
    complaints.push({ file, line: null, variable: null, key: null, message: `${why}.` })
    return null
  }
}

/** Returns the settings of a file. Adds complaints about everything in it that isn't a valid setting. */
function readToml(text: string, file: string, complaints: ConfigError[]): Map<string, ConfiguredValue> {
  const given = new Map<string, ConfiguredValue>()
  let document: Record<string, unknown>
  try {
    document = parse(text)
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const reason = error.message.split('\n')[0]!.replace(/^Invalid TOML document: /, '')
    const message = `not TOML at column ${error.column}: ${reason}.`
    complaints.push({ file, line: error.line, variable: null, key: null, message })
    return given
  }
  const lines = findKeyLines(text)
  const place = (key: string) => ({ file, line: findLine(lines, key) ?? null, variable: null, key })
  const take = (path: string, value: unknown) => {
    const known = KEYS.some(({ name }) => name === path)
    if (known) given.set(path, { value, at: (inner) => place(path + inner) })
    else complaints.push({ ...place(path), message: unknownKey(path) })
  }
  for (const [name, value] of Object.entries(document)) {
    const section = SECTIONS.some((one) => one.name === name)
    if (section && isTable(value))
      for (const [key, inner] of Object.entries(value)) take(`${name}.${key}`, inner)
    else if (section)
      complaints.push({ ...place(name), message: `${name} is a section. Write [${name}] before its keys.` })
    else take(name, value)
  }
  return given
}

function unknownKey(path: string): string {
  const own = path.split('.').at(-1)!
  const names = [...KEYS.map(({ name }) => name), ...SECTIONS.flatMap(({ name }) => name ?? [])]
  const meant = names.find((name) => name.endsWith(`.${own}`)) ?? findClosestMatch(path, names)
  return `unknown key ${path}.${meant === undefined ? '' : ` Did you mean ${meant}?`}`
}

function checkGiven({ name, schema }: Key, given: ConfiguredValue): ConfigError[] {
  return checkValue(schema, given.value).map(({ path, found, expected }) => ({
    ...given.at(path),
    message: `${name}${path} is ${found}; expected ${expected}.`,
  }))
}

function missing({ name, variable, schema }: Key, file: string): ConfigError {
  const what = `${name} is missing: ${schema.description ?? ''}`
  return {
    file: null,
    line: null,
    variable: null,
    key: name,
    message: `${what} Set it in ${file} or as ${variable}.`,
  }
}

/** Builds the nested object; omits keys without value and default. */
function assemble(values: ReadonlyMap<string, unknown>): Config {
  const config: Record<string, unknown> = {}
  for (const { name, keys } of SECTIONS) {
    const present = keys.filter((key) => values.get(key.name) !== undefined)
    const table = Object.fromEntries(
      present.map((key) => [key.name.split('.').at(-1)!, values.get(key.name)]),
    )
    if (name === null) Object.assign(config, table)
    else config[name] = table
  }
  // Every value was validated against the schema that Config is derived from.
  return normalise(config as Config)
}

function normalise(config: Config): Config {
  const { public_url: url, admin_url: adminUrl } = config.http
  return {
    ...config,
    hostname: config.hostname.toLowerCase(),
    http: {
      ...config.http,
      ...(url === undefined ? {} : { public_url: new URL(url).origin }),
      ...(adminUrl === undefined ? {} : { admin_url: new URL(adminUrl).origin }),
    },
  }
}
