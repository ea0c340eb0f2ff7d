/** Reads the plans, a TOML file with a table for each. Validates the whole file and reports all errors at once. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, TomlError } from 'smol-toml'
import { isTable } from './check-value.ts'
import { formatConfigError, sortConfigErrors, type ConfigError } from './complaint.ts'
import { findKeyLines, findLine } from './locate.ts'

/** The plans shipped with the program. */
const SHIPPED_PLANS = join(import.meta.dirname, '..', '..', 'config', 'plans.toml')

/** The plan of teams that weren't assigned one. */
const DEFAULT_PLAN = 'unlimited'
const LIMITS = ['daily', 'monthly'] as const

/** Maximum numbers of recipients per UTC day and month; null for no limit. */
type Limits = Record<(typeof LIMITS)[number], number | null>

/** The plans file is invalid. The message has one line per complaint, with file and line. */
export class InvalidPlans extends Error {
  constructor(complaints: readonly ConfigError[]) {
    super(['The plans file has errors:', ...sortConfigErrors(complaints).map(formatConfigError)].join('\n  '))
    this.name = 'InvalidPlans'
  }
}

/**
 * Loads the plans by name.
 * @param file default: the shipped one
 * @throws InvalidPlans
 */
export function loadPlans(file: string = SHIPPED_PLANS): ReadonlyMap<string, Limits> {
  const complaints: ConfigError[] = []
  const complain = (line: number | null, key: string | null, message: string): void =>
    void complaints.push({ file, line, variable: null, key, message })
  const text = readText(file, complain)
  const document = text === undefined ? undefined : readToml(text, complain)
  const plans = new Map<string, Limits>()
  if (document) {
    const lines = findKeyLines(text!)
    for (const [name, table] of Object.entries(document)) {
      const at = (key: string, message: string) => complain(findLine(lines, key) ?? null, key, message)
      plans.set(name, readPlan(name, table, at))
    }
    if (!plans.has(DEFAULT_PLAN))
      complain(null, DEFAULT_PLAN, `the plan [${DEFAULT_PLAN}] is missing. New teams start with it.`)
  }
  if (complaints.length > 0) throw new InvalidPlans(complaints)
  return plans
}

type Complain = (line: number | null, key: string | null, message: string) => void

function readText(file: string, complain: Complain): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    // Report any reason to the person who starts the daemon.
    complain(null, null, `it cannot be read (${(error as NodeJS.ErrnoException).code ?? String(error)}).`)
    return undefined
  }
}

function readToml(text: string, complain: Complain): Record<string, unknown> | undefined {
  try {
    return parse(text)
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const reason = error.message.split('\n')[0]!.replace(/^Invalid TOML document: /, '')
    complain(error.line, null, `not TOML at column ${error.column}: ${reason}.`)
    return undefined
  }
}

function readPlan(name: string, table: unknown, complain: (key: string, message: string) => void): Limits {
  const limits: Limits = { daily: null, monthly: null }
  if (!/^[a-z][a-z0-9_-]{0,49}$/.test(name))
    complain(name, `${name} is not a valid plan name: use lowercase letters, digits, - and _, at most 50.`)
  if (!isTable(table)) {
    complain(name, `${name} must be a table: write [${name}] with its limits below it.`)
    return limits
  }
  for (const [key, value] of Object.entries(table)) {
    const path = `${name}.${key}`
    const limit = LIMITS.find((one) => one === key)
    if (limit === undefined) complain(path, `unknown limit ${path}; expected ${LIMITS.join(' or ')}.`)
    else if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0)
      complain(path, `${path} is ${JSON.stringify(value)}; expected a whole number of recipients, 0 or more.`)
    else limits[limit] = value
  }
  return limits
}
