/**
 * Conditions of automations, in the grammar of segment rules (rules.ts), on the fields of an event and a contact. Pure.
 */
import { refuse } from './refusals.ts'
import { MAX_RULE_DEPTH, MAX_RULES, RULE_OPERATORS, type Rule, type Rules } from './rules.ts'

export type { Rules } from './rules.ts'

/** The data of a run: the payload that started it, its contact, and by event the payloads that it waited for. */
export interface ConditionData {
  event: Record<string, unknown>
  contact: Record<string, unknown>
  waits: Record<string, Record<string, unknown>>
}

const FIELD = /^(event|contact|wait_events)\.\S(.{0,200}\S)?$/s
const MAX_VALUE = 500

/** Whether a text names a field, such as `event.plan`, `contact.properties.plan` or `wait_events.paid.amount`. */
export const isField = (given: unknown): given is string => typeof given === 'string' && FIELD.test(given)

export const EXPECTED_FIELD =
  'a field such as `event.plan`, `contact.email`, `contact.properties.plan` or `wait_events.order.paid.total`'

const CONTACT_FIELDS = ['id', 'email', 'first_name', 'last_name', 'unsubscribed', 'created_at']

/** Whether a field of contacts exists, apart from properties. */
export const isContactField = (field: string): boolean => {
  const [noun, name = '', ...more] = field.split('.')
  if (noun !== 'contact') return true
  return name === 'properties' ? more.length > 0 : more.length === 0 && CONTACT_FIELDS.includes(name)
}

const isObject = (given: unknown): given is Record<string, unknown> =>
  typeof given === 'object' && given !== null && !Array.isArray(given)

/** Reads a condition. `type` may be missing in a single rule. Refuses: `invalid_field`. */
export function parseCondition(given: unknown, path: string): Rules {
  return readOne(given, path, 1, { left: MAX_RULES })
}

function readOne(given: unknown, path: string, depth: number, count: { left: number }): Rules {
  if (!isObject(given)) throw refuse('invalid_field', { field: path, expected: 'an object with a `type`' })
  const type = given.type ?? ('field' in given ? 'rule' : undefined)
  if (type === 'rule') return readRule(given, path, count)
  if (type !== 'and' && type !== 'or')
    throw refuse('invalid_field', { field: `${path}.type`, expected: 'one of rule, and, or' })
  const { rules } = given
  if (depth > MAX_RULE_DEPTH || !Array.isArray(rules) || rules.length === 0 || rules.length > MAX_RULES)
    throw refuse('invalid_field', {
      field: `${path}.rules`,
      expected: `1 to ${MAX_RULES} rules, in at most ${MAX_RULE_DEPTH} groups within each other`,
    })
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
  if (!isField(field) || !isContactField(field))
    throw refuse('invalid_field', { field: `${path}.field`, expected: EXPECTED_FIELD })
  const known = RULE_OPERATORS.find((one) => one === operator)
  if (!known)
    throw refuse('invalid_field', {
      field: `${path}.operator`,
      expected: `one of ${RULE_OPERATORS.join(', ')}`,
    })
  if (known === 'exists' || known === 'is_empty') return { type: 'rule', field, operator: known }
  const isText = typeof value === 'string' && value.length <= MAX_VALUE
  const isNull = value === null && (known === 'eq' || known === 'neq')
  if (
    !isText &&
    !isNull &&
    typeof value !== 'boolean' &&
    !(typeof value === 'number' && Number.isFinite(value))
  )
    throw refuse('invalid_field', {
      field: `${path}.value`,
      expected: `a string of at most ${MAX_VALUE} characters, a number, true or false`,
    })
  return { type: 'rule', field, operator: known, value: value as string }
}

/** Finds the value of a field; undefined if there is none. */
export function findFieldValue(field: string, { event, contact, waits }: ConditionData): unknown {
  const [noun, ...path] = field.split('.')
  if (noun === 'contact') return valueAt(contact, path)
  if (noun === 'event') return valueAt(event, path)
  // Event names may contain dots, so use the longest name that matches.
  for (let length = path.length - 1; length > 0; length--) {
    const name = path.slice(0, length).join('.')
    if (Object.hasOwn(waits, name)) return valueAt(waits[name], path.slice(length))
  }
  return undefined
}

function valueAt(from: unknown, path: readonly string[]): unknown {
  // A payload may have a field whose name has dots.
  if (isObject(from) && Object.hasOwn(from, path.join('.'))) return from[path.join('.')]
  let value = from
  for (const name of path) value = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
  return value
}

/** Decides whether a condition holds. Texts are compared without regard to case, as in segments. */
export function evaluateCondition(rules: Rules, facts: ConditionData): boolean {
  if (rules.type === 'rule') return holdsRule(rules, findFieldValue(rules.field, facts))
  if (rules.type === 'and') return rules.rules.every((one) => evaluateCondition(one, facts))
  return rules.rules.some((one) => evaluateCondition(one, facts))
}

const lower = (value: unknown): string => String(value).toLowerCase()
const isEmpty = (value: unknown): boolean => value === undefined || value === null || value === ''

function holdsRule({ operator, value }: Rule, found: unknown): boolean {
  switch (operator) {
    case 'exists':
      return !isEmpty(found)
    case 'is_empty':
      return isEmpty(found)
    case 'eq':
      return isSame(found, value)
    case 'neq':
      return !isSame(found, value)
    case 'contains':
      return Array.isArray(found)
        ? found.some((one) => isSame(one, value))
        : isText(found) && lower(found).includes(lower(value))
    case 'starts_with':
      return isText(found) && lower(found).startsWith(lower(value))
    case 'ends_with':
      return isText(found) && lower(found).endsWith(lower(value))
    default:
      return compares(operator, toNumber(found), toNumber(value))
  }
}

const isText = (value: unknown): boolean => typeof value === 'string' || typeof value === 'number'

function isSame(found: unknown, value: unknown): boolean {
  if (isEmpty(found) || isEmpty(value)) return isEmpty(found) && isEmpty(value)
  return isText(found) && isText(value) ? lower(found) === lower(value) : found === value
}

/** Returns a number or a time in milliseconds; NaN for anything else. */
function toNumber(value: unknown): number {
  if (typeof value === 'number') return value
  if (typeof value !== 'string' || value.trim() === '') return Number.NaN
  return /^\d{4}-\d\d-\d\d/.test(value) ? Date.parse(value) : Number(value)
}

/** Compares two numbers. Comparisons with NaN are false. */
function compares(operator: 'gt' | 'gte' | 'lt' | 'lte', a: number, b: number): boolean {
  if (operator === 'gt') return a > b
  if (operator === 'gte') return a >= b
  return operator === 'lt' ? a < b : a <= b
}
