/**
 * Reads the formats of received mail that have no standard structure (config/returned-mail.toml). Validates the whole
 * file and reports all errors at once.
 */
import { join } from 'node:path'
import { Type, type Static } from 'typebox'
import type { BounceRule } from '../mail/bounce.ts'
import type { FieldTest, ReturnedMailFormat } from '../mail/returned.ts'
import { parseRule } from './bounces.ts'
import { checkValue } from './check-value.ts'
import type { KeySchema } from './keys.ts'
import { explainUnsafePattern } from './pattern.ts'
import { readTables, type ReportError } from './tables.ts'

/** The table shipped with the program. */
const SHIPPED_FORMATS = join(import.meta.dirname, '..', '..', 'config', 'returned-mail.toml')

const KINDS = ['bounce', 'delayed', 'complaint', 'auto-reply', 'challenge', 'other'] as const
const some = Type.Optional(Type.Array(Type.String(), { minItems: 1 }))

const FormatSchema = Type.Object({
  name: Type.String(),
  kind: Type.Unsafe<(typeof KINDS)[number]>(Type.Union(KINDS.map((one) => Type.Literal(one)))),
  header: some,
  any_header: some,
  opening: some,
  text: some,
  recipient: some,
  recipient_field: Type.Optional(Type.String()),
  copy: some,
  needs_recipient: Type.Optional(Type.Boolean()),
})
type Written = Static<typeof FormatSchema>

/**
 * The formats in the order of matching, and the rules for reasons, which take precedence over those of
 * config/bounces.toml.
 */
export interface ReturnedMailRules {
  formats: readonly ReturnedMailFormat[]
  reasons: readonly BounceRule[]
}

/**
 * Loads the table. The operator's own file takes precedence over the shipped one.
 * @throws InvalidTable
 */
export function loadReturnedMailRules(file?: string): ReturnedMailRules {
  const shipped = readFile(SHIPPED_FORMATS)
  if (file === undefined) return shipped
  const own = readFile(file)
  return {
    formats: [...own.formats, ...shipped.formats],
    reasons: [...own.reasons, ...shipped.reasons],
  }
}

function readFile(file: string): ReturnedMailRules {
  return readTables(
    'The formats of returned mail',
    file,
    ({ format = [], rule = [], ...others }, complain) => {
      for (const key of Object.keys(others))
        complain(key, `unknown key ${key}; an entry starts with [[format]] or [[rule]].`)
      const list = <T>(key: string, value: unknown, read: (one: unknown, path: string) => T[]): T[] => {
        if (Array.isArray(value)) return value.flatMap((one, at) => read(one, `${key}[${at}]`))
        complain(key, `${key} must be a list: write [[${key}]] before each ${key}.`)
        return []
      }
      return {
        formats: list('format', format, (one, path) => readFormat(one, path, complain)),
        reasons: list('rule', rule, (one, path) => parseRule(one, path, complain)),
      }
    },
  )
}

/** Reads one format; undefined when it is invalid, which is reported. */
function readFormat(value: unknown, path: string, complain: ReportError): ReturnedMailFormat[] {
  const misfits = checkValue(FormatSchema as unknown as KeySchema, value, path)
  for (const misfit of misfits)
    complain(misfit.path, `${misfit.path} is ${misfit.found}; expected ${misfit.expected}.`)
  if (misfits.length > 0) return []
  const written = value as Written // It matches the schema that Written is derived from.
  const wrong = complaintsOf(written)
  for (const [key, message] of wrong) complain(`${path}.${key}`, `${path}.${key} ${message}.`)
  return wrong.length > 0 ? [] : [assemble(written)]
}

const CONDITIONS = ['header', 'any_header', 'opening', 'text'] as const
const PATTERNS = ['opening', 'text', 'recipient', 'copy'] as const
const FIELD = /^([\w-]{1,76}): (.+)$/

type Wrong = [key: keyof Written, message: string]

function complaintsOf(format: Written): Wrong[] {
  const found: Wrong[] = []
  if (!/^[a-z][a-z0-9-]{0,49}$/.test(format.name))
    found.push(['name', 'is not a valid name: use lowercase letters, digits and -, at most 50'])
  if (CONDITIONS.every((key) => format[key] === undefined))
    found.push([
      'name',
      `has no condition, so it would match every message: set one of ${CONDITIONS.join(', ')}`,
    ])
  for (const key of PATTERNS)
    for (const pattern of format[key] ?? []) {
      if (key === 'recipient' && !pattern.includes(ADDRESS_MARK))
        found.push([key, `has a pattern without ${ADDRESS_MARK}: ${pattern}`])
      found.push(...complaintsOfPattern(key, pattern))
    }
  for (const key of ['header', 'any_header'] as const)
    for (const test of format[key] ?? []) {
      const pattern = FIELD.exec(test)?.[2]
      if (pattern === undefined) found.push([key, `has "${test}"; expected "field: pattern"`])
      else found.push(...complaintsOfPattern(key, pattern))
    }
  return found
}

function complaintsOfPattern(key: keyof Written, pattern: string): Wrong[] {
  try {
    compile(pattern)
  } catch (error) {
    // The regular expression engine's message says what the error is, and where.
    return [[key, `has a pattern that is not a regular expression (${(error as Error).message})`]]
  }
  const unsafe = explainUnsafePattern(pattern.replaceAll(ADDRESS_MARK, ''))
  return unsafe === undefined ? [] : [[key, `has a pattern that ${unsafe}: ${pattern}`]]
}

const ADDRESS_MARK = '{address}'
/** Matches an address of bounded length, without the punctuation around it. */
const ADDRESS = String.raw`([^\s<>()[\],;:"'@]{1,128}@[^\s<>()[\],;:"'@]{1,255})`

const compile = (pattern: string): RegExp => new RegExp(pattern.replaceAll(ADDRESS_MARK, ADDRESS), 'imu')

function assemble(format: Written): ReturnedMailFormat {
  const patterns = (key: (typeof PATTERNS)[number]): RegExp[] => (format[key] ?? []).map(compile)
  const tests = (key: 'header' | 'any_header'): FieldTest[] =>
    (format[key] ?? []).map((test) => {
      const [, field, pattern] = FIELD.exec(test)!
      return { field: field!.toLowerCase(), pattern: compile(pattern!) }
    })
  return {
    name: format.name,
    kind: format.kind,
    header: tests('header'),
    anyHeader: tests('any_header'),
    opening: patterns('opening'),
    text: patterns('text'),
    recipient: patterns('recipient'),
    recipientField: format.recipient_field?.toLowerCase() ?? null,
    copy: patterns('copy'),
    needsRecipient: format.needs_recipient ?? false,
  }
}
