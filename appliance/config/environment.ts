import type { ConfigError } from './complaint.ts'
import { KEYS, VARIABLE_PREFIX, type KeySchema } from './keys.ts'

/** A value that was set, and where it was set, for complaints about it. */
export interface ConfiguredValue {
  value: unknown
  at(inner: string): Omit<ConfigError, 'message'>
}

export interface Environment {
  given: Map<string, ConfiguredValue>
  notes: string[]
}

/** Variables that are read elsewhere and can't be set in the file. */
const NOT_SETTINGS = ['POSTHASTE_MASTER_KEY']

/**
 * Reads settings from environment variables. Empty variables count as unset.
 *
 * An unknown `POSTHASTE_…` name is an error when it contains the `__` of a setting or resembles one. Other unknown
 * names only produce a note, because container platforms generate such names for a service called posthaste
 * (`POSTHASTE_SERVICE_HOST`).
 */
export function readEnvironment(env: NodeJS.ProcessEnv, complaints: ConfigError[]): Environment {
  const given = new Map<string, ConfiguredValue>()
  const notes: string[] = []
  for (const [variable, text] of Object.entries(env)) {
    if (!variable.startsWith(VARIABLE_PREFIX) || text === undefined || text === '') continue
    if (NOT_SETTINGS.includes(variable)) continue
    const key = KEYS.find((one) => one.variable === variable)
    if (key) {
      const value = readText(key.schema, text)
      given.set(key.name, { value, at: () => ({ file: null, line: null, variable, key: key.name }) })
      continue
    }
    const meant = findClosestMatch(
      variable.slice(VARIABLE_PREFIX.length),
      KEYS.map((one) => one.variable.slice(VARIABLE_PREFIX.length)),
    )
    if (variable.includes('__') || meant !== undefined) {
      const hint = meant === undefined ? '' : ` Did you mean ${VARIABLE_PREFIX}${meant}?`
      const message = `unknown setting.${hint}`
      complaints.push({ file: null, line: null, variable, key: null, message })
    } else notes.push(`The environment variable ${variable} is not a Posthaste setting and was ignored.`)
  }
  return { given, notes }
}

/**
 * Converts a variable's text to the type of its setting. Text that can't be converted is returned as is, and fails
 * validation.
 */
function readText(schema: KeySchema, text: string): unknown {
  switch (schema.type) {
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : text
    case 'integer':
    case 'number':
      return /^-?\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : text
    case 'array':
      return readList(text)
    case 'object':
    case 'string':
    case undefined:
      return text
  }
}

function readList(text: string): unknown {
  if (!text.trim().startsWith('['))
    return text
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '')
  try {
    return JSON.parse(text)
  } catch {
    // "[::]:8025,[::1]:8026" begins with a bracket but isn't JSON: treat it as a plain list.
    return text.split(',').map((item) => item.trim())
  }
}

/** Counts the edits (insert, delete, replace, transpose neighbors) between two words. */
function distance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)]
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const change = a[i - 1] === b[j - 1] ? 0 : 1
      let best = Math.min(rows[i - 1]![j]! + 1, row[j - 1]! + 1, rows[i - 1]![j - 1]! + change)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        best = Math.min(best, rows[i - 2]![j - 2]! + 1)
      row.push(best)
    }
    rows.push(row)
  }
  return rows[a.length]![b.length]!
}

/**
 * Returns the candidate that was probably meant: the one with the fewest edits, at most a third of the word's length.
 * Undefined if there is none.
 */
export function findClosestMatch(word: string, candidates: readonly string[]): string | undefined {
  const plain = word.toLowerCase().replaceAll('-', '_').slice(0, 100)
  const scored = candidates.map((candidate) => ({
    candidate,
    edits: distance(plain, candidate.toLowerCase()),
  }))
  const best = scored.sort((a, b) => a.edits - b.edits)[0]
  return best && best.edits <= Math.max(1, Math.floor(word.length / 3)) ? best.candidate : undefined
}
