/** Reads the rules of mailbox providers, a TOML file. Validates the whole file and reports all errors at once. */
import { join } from 'node:path'
import { Type, type Static, type TSchema } from 'typebox'
import {
  RULE_CHECKS,
  type ProviderRule,
  type ProviderRules,
  type RulesProvider,
} from '../mail/provider-rules.ts'
import { checkValue } from './check-value.ts'
import { readTables, type ReportError } from './tables.ts'

/** The rules shipped with the program. */
const SHIPPED = join(import.meta.dirname, '..', '..', 'config', 'provider-rules.toml')

const ProviderSchema = Type.Object({
  id: Type.String({ minLength: 1 }),
  name: Type.String({ minLength: 1 }),
  bulk: Type.Integer({ minimum: 1 }),
  domains: Type.Array(Type.String({ minLength: 1 }), { minItems: 1 }),
})

const RuleSchema = Type.Object({
  id: Type.String(),
  provider: Type.String(),
  check: Type.Unsafe<(typeof RULE_CHECKS)[number]>(Type.Union(RULE_CHECKS.map((one) => Type.Literal(one)))),
  bulk: Type.Optional(Type.Boolean()),
  limit: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
  reply: Type.Optional(Type.String({ minLength: 1 })),
  source: Type.String(),
  date: Type.String(),
})

/**
 * Loads the rules.
 * @param file default: the shipped one
 * @throws InvalidTable
 */
export function loadProviderRules(file: string = SHIPPED): ProviderRules {
  return readTables('The provider rules', file, ({ provider = [], rule = [], ...others }, complain) => {
    for (const key of Object.keys(others))
      complain(key, `unknown key ${key}; write [[provider]] and [[rule]].`)
    const providers = readAll('provider', provider, ProviderSchema, complain).map(({ value }) =>
      lowered(value),
    )
    const written = readAll('rule', Array.isArray(rule) ? rule.map(withDate) : rule, RuleSchema, complain)
    for (const one of written) complainOf(one, { providers, written, complain })
    return { providers, rules: written.map(({ value }) => toRule(value)) }
  })
}

const lowered = (provider: Static<typeof ProviderSchema>): RulesProvider => ({
  ...provider,
  domains: provider.domains.map((domain) => domain.toLowerCase()),
})

/** An element of a list, and its index. */
interface Placed<T> {
  at: number
  value: T
}

/** Reads the valid elements of a list, and reports the others. */
function readAll<T extends TSchema>(
  key: string,
  list: unknown,
  schema: T,
  complain: ReportError,
): Placed<Static<T>>[] {
  if (!Array.isArray(list)) {
    complain(key, `${key} must be a list: write [[${key}]] before each ${key}.`)
    return []
  }
  return list.flatMap((value: unknown, at) => {
    const misfits = checkValue(schema, value, `${key}[${at}]`)
    for (const { path, found, expected } of misfits)
      complain(path, `${path} is ${found}; expected ${expected}.`)
    return misfits.length > 0 ? [] : [{ at, value: value as Static<T> }] // It matches the schema.
  })
}

/** Formats the rule's date as text, because TOML has a type for dates. */
const withDate = (rule: unknown): unknown =>
  typeof rule === 'object' && rule !== null && 'date' in rule && rule.date instanceof Date
    ? { ...rule, date: rule.date.toISOString().slice(0, 10) }
    : rule

type Written = Static<typeof RuleSchema>

interface Around {
  providers: readonly RulesProvider[]
  written: readonly Placed<Written>[]
  complain: ReportError
}

function complainOf({ at, value: rule }: Placed<Written>, { providers, written, complain }: Around): void {
  const wrong = (key: keyof Written, message: string): void =>
    complain(`rule[${at}].${key}`, `rule[${at}].${key} ${message}.`)
  if (!/^[a-z][a-z0-9-]{0,49}$/.test(rule.id))
    wrong('id', 'is not a valid name: use lowercase letters, digits and -, at most 50')
  if (written.find(({ value }) => value.id === rule.id)?.at !== at) wrong('id', `"${rule.id}" is used twice`)
  if (!providers.some(({ id }) => id === rule.provider))
    wrong('provider', `"${rule.provider}" is not the id of a [[provider]]`)
  if ((rule.check === 'complaints') !== (rule.limit !== undefined))
    wrong('limit', 'is required for the check "complaints", and only for it')
  if (!/^https:\/\/\S+$/.test(rule.source)) wrong('source', 'is not an https: URL')
  if (!/^\d{4}-\d\d-\d\d$/.test(rule.date)) wrong('date', 'is not a date such as 2024-02-01')
}

const toRule = ({
  id,
  provider,
  check,
  bulk = false,
  limit,
  reply,
  source,
  date,
}: Written): ProviderRule => ({
  id,
  provider,
  check,
  bulk,
  limit: limit ?? null,
  reply: reply ?? null,
  source,
  date,
})
