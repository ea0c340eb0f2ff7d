/**
 * Reads the mailbox providers, a TOML file with a table for each. Validates the whole file and reports all errors at
 * once.
 */
import { join } from 'node:path'
import {
  DEFAULT_PROVIDER,
  NUMBER_SETTINGS,
  parseSettings,
  SETTING_NAMES,
  WARM_UP,
  type PauseRule,
  type ProviderEntry,
  type ProviderTable,
  type Settings,
} from '../shaping/shaping.ts'
import { isTable } from './check-value.ts'
import { FORMATS } from './formats.ts'
import { explainUnsafePattern } from './pattern.ts'
import { readTables, type ReportError } from './tables.ts'

/** The providers shipped with the program. */
export const SHIPPED_PROVIDERS = join(import.meta.dirname, '..', '..', 'config', 'providers.toml')

/** Defaults for the default provider, unless its entry sets them. */
export interface ProvidersContext {
  /** `delivery.max_connections_per_domain`. */
  connections: number
}

/**
 * Loads the providers.
 * @param file default: the shipped one
 * @throws InvalidTable
 */
export function loadProviders(
  { connections }: ProvidersContext,
  file: string = SHIPPED_PROVIDERS,
): ProviderTable {
  return readTables('The mailbox providers', file, (document, complain) => {
    const entries = Object.entries(document).map(([id, table]) => readEntry(id, table, complain))
    const common = entries.find(({ id }) => id === DEFAULT_PROVIDER)
    if (!common)
      complain(
        DEFAULT_PROVIDER,
        `the table [${DEFAULT_PROVIDER}] is missing. It sets the limits that others inherit.`,
      )
    const providers = entries.filter(({ id }) => id !== DEFAULT_PROVIDER)
    complainOfShared(providers, complain)
    const settings = complete({ connections, ...common?.settings }, complain)
    return { default: { settings, pauses: common?.pauses ?? [] }, providers }
  })
}

const ID = /^[a-z][a-z0-9-]{0,39}$/

function readEntry(id: string, table: unknown, complain: ReportError): ProviderEntry {
  const isDefault = id === DEFAULT_PROVIDER
  if (!ID.test(id))
    complain(id, `${id} is not a valid provider name: use lowercase letters, digits and -, at most 40.`)
  if (!isTable(table)) complain(id, `${id} must be a table: write [${id}] with its limits below it.`)
  const given = isTable(table) ? table : {}
  const { name, mx, pauses = [], ...others } = given
  const { settings, bad } = parseSettings(others)
  for (const { name: key, expected } of bad)
    complain(`${id}.${key}`, `${id}.${key} is ${JSON.stringify(others[key])}; expected ${expected}.`)
  for (const key of Object.keys(others))
    if (!SETTING_NAMES.includes(key)) complain(`${id}.${key}`, `unknown key ${id}.${key}.`)
  if (!isDefault && (typeof name !== 'string' || name === ''))
    complain(`${id}.name`, `${id}.name is missing: the provider's display name.`)
  if (isDefault && (name !== undefined || mx !== undefined))
    complain(id, `${id} cannot have name or mx: it applies to all other destinations.`)
  return {
    id,
    name: typeof name === 'string' ? name : id,
    mx: isDefault ? [] : readMx(id, mx, complain),
    settings,
    pauses: readPauses(id, pauses, complain),
  }
}

function readMx(id: string, mx: unknown, complain: ReportError): string[] {
  const sound = (one: unknown): one is string => typeof one === 'string' && FORMATS.hostname!.test(one)
  if (Array.isArray(mx) && mx.length > 0 && mx.every(sound)) return mx.map((one) => one.toLowerCase())
  complain(`${id}.mx`, `${id}.mx: expected a list of MX hostnames or their parent domains.`)
  return []
}

/** Reports providers with the same suffix, because matching would depend on the order of the file. */
function complainOfShared(providers: readonly ProviderEntry[], complain: ReportError): void {
  const owners = new Map<string, string>()
  for (const { id, mx } of providers)
    for (const suffix of mx) {
      const owner = owners.get(suffix) ?? id
      if (owner !== id) complain(`${id}.mx`, `${id}.mx has ${suffix}, which ${owner} also has.`)
      owners.set(suffix, owner)
    }
}

/** Checks that the default provider sets everything, because other providers inherit from it. */
function complete(settings: Partial<Settings>, complain: ReportError): Settings {
  for (const { name, key } of [...NUMBER_SETTINGS, { name: WARM_UP.name, key: 'warmUp' as const }])
    if (settings[key] === undefined)
      complain(`${DEFAULT_PROVIDER}.${name}`, `${DEFAULT_PROVIDER}.${name} is missing.`)
  return settings as Settings // Missing settings were reported, and then nothing of the result is used.
}

function readPauses(id: string, pauses: unknown, complain: ReportError): PauseRule[] {
  if (Array.isArray(pauses)) return pauses.map((one, at) => readPause(`${id}.pauses[${at}]`, one, complain))
  complain(`${id}.pauses`, `${id}.pauses must be a list: write [[${id}.pauses]] before each entry.`)
  return []
}

function readPause(key: string, table: unknown, complain: ReportError): PauseRule {
  const { text, enhanced, minutes, slow, says, ...others } = isTable(table) ? table : {}
  refuseOthers(key, others, complain)
  if (text === undefined && enhanced === undefined)
    complain(key, `${key} matches every reply: expected text, enhanced or both.`)
  if (typeof says !== 'string' || says === '')
    complain(`${key}.says`, `${key}.says is missing: words that complete "it ...".`)
  return {
    text: text === undefined ? null : readPattern(`${key}.text`, text, complain),
    enhanced: enhanced === undefined ? null : readPattern(`${key}.enhanced`, enhanced, complain),
    minutes: readNumber(`${key}.minutes`, minutes, 0, 10_080, complain),
    slow: slow === undefined ? null : readSlow(`${key}.slow`, slow, complain),
    says: String(says),
  }
}

function readSlow(key: string, table: unknown, complain: ReportError): PauseRule['slow'] {
  const { messages_per_minute: rate, connections, minutes, ...others } = isTable(table) ? table : {}
  refuseOthers(key, others, complain)
  return {
    messagesPerMinute: readNumber(`${key}.messages_per_minute`, rate, 1, 1_000_000, complain),
    connections: readNumber(`${key}.connections`, connections, 1, 500, complain),
    minutes: readNumber(`${key}.minutes`, minutes, 1, 10_080, complain),
  }
}

function readPattern(key: string, value: unknown, complain: ReportError): RegExp | null {
  if (typeof value !== 'string' || value === '') {
    complain(key, `${key} is ${JSON.stringify(value)}; expected a regular expression.`)
    return null
  }
  const unsafe = explainUnsafePattern(value)
  if (unsafe !== undefined) complain(key, `${key} ${unsafe}, so a hostile reply could make it slow.`)
  try {
    return new RegExp(value, 'i')
  } catch (error) {
    // The regular expression engine's message says what the error is.
    complain(key, `${key} is not a regular expression: ${(error as Error).message}.`)
    return null
  }
}

function readNumber(
  key: string,
  value: unknown,
  minimum: number,
  maximum: number,
  complain: ReportError,
): number {
  if (Number.isSafeInteger(value) && (value as number) >= minimum && (value as number) <= maximum)
    return value as number
  const found = value === undefined ? 'missing' : JSON.stringify(value)
  complain(key, `${key} is ${found}; expected a whole number from ${minimum} to ${maximum}.`)
  return minimum
}

function refuseOthers(path: string, others: object, complain: ReportError): void {
  for (const key of Object.keys(others)) complain(`${path}.${key}`, `unknown key ${path}.${key}.`)
}
