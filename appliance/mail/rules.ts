/**
 * Rules about contacts, as in segments: conditions on fields, joined by `and` and `or`. Operators are named as in
 * automations (reference §1.10). read-rules.ts parses them. Pure; also used by the dashboard.
 */

export const RULE_OPERATORS = [
  ...(['eq', 'neq', 'gt', 'gte', 'lt', 'lte'] as const),
  ...(['contains', 'starts_with', 'ends_with', 'exists', 'is_empty'] as const),
] as const
export type RuleOperator = (typeof RULE_OPERATORS)[number]

export interface Rule {
  type: 'rule'
  field: string
  operator: RuleOperator
  /** Absent with `exists` and `is_empty`. */
  value?: string | number | boolean
}

/** Rules that must all hold (`and`), or at least one (`or`). */
export interface RuleGroup {
  type: 'and' | 'or'
  rules: Rules[]
}

export type Rules = Rule | RuleGroup

/** Limits on nesting and number of rules. They keep evaluation fast and SQL statements short. */
export const MAX_RULE_DEPTH = 4
export const MAX_RULES = 50

/** The target of a rule's field. */
export type RuleField =
  | { kind: 'text'; column: 'email' | 'first_name' | 'last_name' }
  | { kind: 'time'; column: 'created_at' | 'last_opened_at' | 'last_clicked_at' }
  | { kind: 'flag'; name: 'unsubscribed' | 'suppressed' }
  | { kind: 'property'; key: string }
  | { kind: 'topic' | 'segment' | 'broadcast'; id: string }

/** Activities of a contact with a broadcast. `sent`: it was queued for the contact. Activity of bots doesn't count. */
export const BROADCAST_ACTIVITIES = ['sent', 'opened', 'clicked'] as const

/** Fields that every contact has. */
export const SIMPLE_FIELDS: Record<string, RuleField> = {
  'contact.email': { kind: 'text', column: 'email' },
  'contact.first_name': { kind: 'text', column: 'first_name' },
  'contact.last_name': { kind: 'text', column: 'last_name' },
  'contact.created_at': { kind: 'time', column: 'created_at' },
  'contact.last_opened_at': { kind: 'time', column: 'last_opened_at' },
  'contact.last_clicked_at': { kind: 'time', column: 'last_clicked_at' },
  'contact.unsubscribed': { kind: 'flag', name: 'unsubscribed' },
  'contact.suppressed': { kind: 'flag', name: 'suppressed' },
}

const NOUNS = { topics: 'topic', segments: 'segment', broadcasts: 'broadcast' } as const

/** Resolves a field; undefined when it doesn't exist. */
export function resolveRuleField(field: string): RuleField | undefined {
  if (Object.hasOwn(SIMPLE_FIELDS, field)) return SIMPLE_FIELDS[field]
  const [, noun, name] = /^contact\.(properties|topics|segments|broadcasts)\.(.+)$/s.exec(field) ?? []
  if (noun === undefined || name === undefined) return undefined
  if (noun === 'properties') return /^\w{1,50}$/.test(name) ? { kind: 'property', key: name } : undefined
  if (!/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(name)) return undefined
  return { kind: NOUNS[noun as keyof typeof NOUNS], id: name.toLowerCase() }
}

const TEXT = ['eq', 'neq', 'contains', 'starts_with', 'ends_with', 'exists', 'is_empty'] as const
const ORDER = ['gt', 'gte', 'lt', 'lte', 'exists', 'is_empty'] as const

/** Operators by type of field. */
export const OPERATORS_BY_KIND = {
  text: TEXT,
  number: ['eq', 'neq', ...ORDER],
  time: ORDER,
  flag: ['eq', 'neq'],
  topic: ['eq', 'neq'],
  segment: ['eq', 'neq'],
  broadcast: ['eq', 'neq'],
} satisfies Record<string, readonly RuleOperator[]>
export type RuleKind = keyof typeof OPERATORS_BY_KIND

const UNITS: Record<string, number> = { hour: 3_600_000, day: 86_400_000, week: 604_800_000 }

/** Resolves the value of a time field to Unix milliseconds; undefined when invalid. */
export function resolveRuleTime(value: string, now: number): number | undefined {
  const [, count, unit] = /^(\d{1,4}) (hour|day|week)s? ago$/.exec(value) ?? []
  if (count !== undefined && unit !== undefined) return now - Number(count) * UNITS[unit]!
  if (!/^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/.test(value)) return undefined
  const at = Date.parse(value)
  return Number.isNaN(at) ? undefined : at
}

/** Yields each rule with its path. @param path of the rules themselves */
export function* eachRule(rules: Rules, path = 'filter'): Generator<[Rule, string]> {
  if (rules.type === 'rule') yield [rules, path]
  else for (const [at, one] of rules.rules.entries()) yield* eachRule(one, `${path}.rules[${at}]`)
}
