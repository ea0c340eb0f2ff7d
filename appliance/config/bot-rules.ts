/** Reads the rules that distinguish bots from people, a TOML file of [[rule]] tables. Reports all errors at once. */
import { join } from 'node:path'
import { Type, type Static } from 'typebox'
import type { BotRule } from '../mail/bot-rule.ts'
import { parseNetworks } from '../wire/networks.ts'
import { checkValue } from './check-value.ts'
import { readTables, type ReportError } from './tables.ts'

/** The rules shipped with the program. */
const SHIPPED_ROBOTS = join(import.meta.dirname, '..', '..', 'config', 'robots.toml')

const some = Type.Optional(Type.Array(Type.String({ minLength: 1 }), { minItems: 1 }))

const RuleSchema = Type.Object({
  name: Type.String(),
  is: Type.Union([Type.Literal('robot'), Type.Literal('proxy')]),
  agents: some,
  exact_agents: some,
  networks: some,
})
type Written = Static<typeof RuleSchema>

/**
 * Loads the rules in order of precedence: the operator's own file, then the shipped one.
 * @throws InvalidTable
 */
export function loadBotRules(file?: string): readonly BotRule[] {
  return [...(file === undefined ? [] : readRules(file)), ...readRules(SHIPPED_ROBOTS)]
}

function readRules(file: string): BotRule[] {
  return readTables('The bot rules', file, ({ rule = [], ...others }, complain) => {
    for (const key of Object.keys(others)) complain(key, `unknown key ${key}; a rule starts with [[rule]].`)
    if (Array.isArray(rule)) return rule.flatMap((one, at) => readRule(one, `rule[${at}]`, complain))
    complain('rule', 'rule must be a list: write [[rule]] before each rule.')
    return []
  })
}

/** Reads one rule; undefined when it is invalid, which is reported. */
function readRule(value: unknown, path: string, complain: ReportError): BotRule[] {
  const misfits = checkValue(RuleSchema, value, path)
  for (const misfit of misfits)
    complain(misfit.path, `${misfit.path} is ${misfit.found}; expected ${misfit.expected}.`)
  if (misfits.length > 0) return []
  const { name, is, agents = [], exact_agents: exact = [], networks = [] } = value as Written // It matches RuleSchema.
  if (agents.length + exact.length + networks.length === 0) {
    complain(`${path}.name`, `${path} would match everyone: set agents, exact_agents or networks.`)
    return []
  }
  try {
    parseNetworks(networks)
  } catch (error) {
    // The message lists every invalid entry.
    complain(`${path}.networks`, `${path}.networks: ${(error as Error).message}.`)
    return []
  }
  const lower = (list: string[]): string[] => list.map((one) => one.toLowerCase())
  return [{ name, is, agents: lower(agents), exactAgents: lower(exact), networks }]
}
