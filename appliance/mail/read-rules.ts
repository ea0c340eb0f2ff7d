/** Parses segment rules from a request. Pure. */
import { refuse } from './refusals.ts'
import {
  BROADCAST_ACTIVITIES,
  MAX_RULE_DEPTH,
  MAX_RULES,
  OPERATORS_BY_KIND,
  type Rule,
  RULE_OPERATORS,
  resolveRuleField,
  type RuleKind,
  type RuleOperator,
  type Rules,
  resolveRuleTime,
  SIMPLE_FIELDS,
} from './rules.ts'

/** Maximum length of a text, in characters. */
const MOST_TEXT = 500

const VALUES: Record<RuleKind, string> = {
  text: `a text of 1 to ${MOST_TEXT} characters`,
  number: 'a number',
  time: 'a date such as `2026-05-01`, a time such as `2026-05-01T12:00:00Z`, or an age such as `30 days ago`',
  flag: '`true` or `false`',
  topic: '`opt_in` or `opt_out`',
  segment: '`true` or `false`',
  broadcast: '`sent`, `opened` or `clicked`',
}

function isValue(kind: RuleKind, value: unknown): boolean {
  if (kind === 'number') return typeof value === 'number' && Number.isFinite(value)
  if (kind === 'flag' || kind === 'segment') return typeof value === 'boolean'
  if (typeof value !== 'string') return false
  if (kind === 'topic') return value === 'opt_in' || value === 'opt_out'
  if (kind === 'broadcast') return (BROADCAST_ACTIVITIES as readonly string[]).includes(value)
  if (kind === 'time') return resolveRuleTime(value, 0) !== undefined
  return value !== '' && value.length <= MOST_TEXT && !value.includes('\0') && value.isWellFormed()
}

/** Checks a rule's operator and value against the type of its field. Refuses: `invalid_field`. */
export function checkOperands({ operator, value }: Rule, kind: RuleKind, path: string): void {
  const operators: readonly RuleOperator[] = OPERATORS_BY_KIND[kind]
  if (!operators.includes(operator))
    throw refuse('invalid_field', { field: `${path}.operator`, expected: `one of ${operators.join(', ')}` })
  const needed = operator !== 'exists' && operator !== 'is_empty'
  if (needed && !isValue(kind, value))
    throw refuse('invalid_field', { field: `${path}.value`, expected: VALUES[kind] })
}

const isObject = (given: unknown): given is Record<string, unknown> =>
  typeof given === 'object' && given !== null && !Array.isArray(given)

/**
 * Parses rules. The caller checks whether the properties, topics, segments and broadcasts exist.
 * @param path name of the field that contained them
 * Refuses: `invalid_field`.
 */
export function parseRules(given: unknown, path = 'filter'): Rules {
  const count = { left: MAX_RULES }
  return readOne(given, path, 1, count)
}

function readOne(given: unknown, path: string, depth: number, count: { left: number }): Rules {
  if (!isObject(given)) throw refuse('invalid_field', { field: path, expected: 'an object with a `type`' })
  const { type } = given
  if (type === 'rule') return readRule(given, path, count)
  if (type !== 'and' && type !== 'or')
    throw refuse('invalid_field', { field: `${path}.type`, expected: 'one of rule, and, or' })
  if (depth > MAX_RULE_DEPTH)
    throw refuse('invalid_field', {
      field: path,
      expected: `at most ${MAX_RULE_DEPTH} groups within each other`,
    })
  const { rules } = given
  if (!Array.isArray(rules) || rules.length === 0 || rules.length > MAX_RULES)
    throw refuse('invalid_field', { field: `${path}.rules`, expected: `1 to ${MAX_RULES} rules` })
  return { type, rules: rules.map((one, at) => readOne(one, `${path}.rules[${at}]`, depth + 1, count)) }
}

function readRule(
  { field, operator, value }: Record<string, unknown>,
  path: string,
  count: { left: number },
): Rule {
  count.left -= 1
  if (count.left < 0)
    throw refuse('invalid_field', { field: path, expected: `at most ${MAX_RULES} rules in all` })
  const named = typeof field === 'string' ? resolveRuleField(field) : undefined
  if (typeof field !== 'string' || !named)
    throw refuse('invalid_field', {
      field: `${path}.field`,
      expected: `one of ${Object.keys(SIMPLE_FIELDS).join(', ')}, or a property, topic, segment or broadcast such as contact.properties.plan`,
    })
  const known = RULE_OPERATORS.find((one) => one === operator)
  if (!known)
    throw refuse('invalid_field', {
      field: `${path}.operator`,
      expected: `one of ${RULE_OPERATORS.join(', ')}`,
    })
  const given = value === null || value === undefined ? {} : { value: value as string }
  const rule: Rule = { type: 'rule', field, operator: known, ...given }
  if (named.kind !== 'property') checkOperands(rule, named.kind, path)
  if (known !== 'exists' && known !== 'is_empty') return rule
  return { type: 'rule', field, operator: known }
}
