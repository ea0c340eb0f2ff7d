/** Segment rules as editable rows and as text. Pure. */
import {
  OPERATORS_BY_KIND,
  type Rule,
  resolveRuleField,
  type RuleKind,
  type RuleOperator,
  type Rules,
} from '../../../appliance/mail/rules.ts'

/** A rule. The value is as typed; the server validates it. */
export interface RuleRow {
  field: string
  operator: RuleOperator
  value: string
}

/** Rows and groups, joined by `and` or `or`. */
export interface RuleRows {
  join: 'and' | 'or'
  rows: (RuleRow | RuleRows)[]
}

export const isGroup = (one: RuleRow | RuleRows): one is RuleRows => 'rows' in one

/** Counts all rules, including those in groups. */
export const countRules = ({ rows }: RuleRows): number =>
  rows.reduce((sum, one) => sum + (isGroup(one) ? countRules(one) : 1), 0)

/** Whether any rule, in any group, satisfies `is`. */
export const hasRule = ({ rows }: RuleRows, is: (row: RuleRow) => boolean): boolean =>
  rows.some((one) => (isGroup(one) ? hasRule(one, is) : is(one)))

/** Names that the team's rules can refer to. */
export interface RuleNames {
  properties: readonly { key: string; type: 'string' | 'number' }[]
  topics: readonly { id: string; name: string }[]
  segments: readonly { id: string; name: string; filter: unknown }[]
  /** Broadcasts that have been sent. */
  broadcasts: readonly { id: string; name: string }[]
}

/** A field and its label. */
export type FieldChoice = readonly [field: string, words: string]

/** Returns the available fields, by group. */
export function listFieldGroups({
  properties,
  topics,
  segments,
  broadcasts,
}: RuleNames): [group: string, FieldChoice[]][] {
  const groups: [string, FieldChoice[]][] = [
    [
      'Contact',
      [
        ['contact.email', 'Address'],
        ['contact.first_name', 'First name'],
        ['contact.last_name', 'Last name'],
        ['contact.created_at', 'Added'],
        ['contact.unsubscribed', 'Unsubscribed from everything'],
        ['contact.suppressed', 'On the suppression list'],
      ],
    ],
    [
      'Activity, without bots',
      [
        ['contact.last_opened_at', 'Last opened an email'],
        ['contact.last_clicked_at', 'Last clicked a link'],
      ],
    ],
    ['Properties', properties.map(({ key }) => [`contact.properties.${key}`, key])],
    ['Topics', topics.map(({ id, name }) => [`contact.topics.${id}`, name])],
    [
      'Segments',
      segments.flatMap(({ id, name, filter }) => (filter ? [] : [[`contact.segments.${id}`, name] as const])),
    ],
    ['Broadcasts, without bots', broadcasts.map(({ id, name }) => [`contact.broadcasts.${id}`, name])],
  ]
  return groups.filter(([, fields]) => fields.length > 0)
}

/** Returns the type of a field. A deleted property is treated as text. */
export function getRuleKind(field: string, { properties }: Pick<RuleNames, 'properties'>): RuleKind {
  const named = resolveRuleField(field)
  if (named?.kind !== 'property') return named?.kind ?? 'text'
  return properties.find(({ key }) => key === named.key)?.type === 'number' ? 'number' : 'text'
}

/** Labels of operators. */
export const OPERATOR_LABELS: Record<RuleOperator, string> = {
  eq: 'is',
  neq: 'isn’t',
  gt: 'is more than',
  gte: 'is at least',
  lt: 'is less than',
  lte: 'is at most',
  contains: 'contains',
  starts_with: 'starts with',
  ends_with: 'ends with',
  exists: 'has a value',
  is_empty: 'is empty',
}
const TIME_WORDS: Partial<Record<RuleOperator, string>> = {
  gt: 'after',
  gte: 'since',
  lt: 'before',
  lte: 'until',
  exists: 'at any time',
  is_empty: 'never',
}

/** Returns the operators of a field type, with labels. */
export const listOperators = (kind: RuleKind): (readonly [RuleOperator, string])[] =>
  OPERATORS_BY_KIND[kind].map(
    (one) => [one, (kind === 'time' ? TIME_WORDS[one] : undefined) ?? OPERATOR_LABELS[one]] as const,
  )

/** Whether an operator needs a value. */
export const needsValue = (operator: RuleOperator): boolean =>
  operator !== 'exists' && operator !== 'is_empty'

/** Returns the possible values; undefined for free text. */
export function listValues(kind: RuleKind): (readonly [string, string])[] | undefined {
  if (kind === 'topic')
    return [
      ['opt_in', 'subscribed'],
      ['opt_out', 'not subscribed'],
    ]
  if (kind === 'broadcast')
    return [
      ['clicked', 'clicked'],
      ['opened', 'opened'],
      ['sent', 'got it'],
    ]
  if (kind !== 'flag' && kind !== 'segment') return undefined
  return kind === 'flag'
    ? [
        ['true', 'yes'],
        ['false', 'no'],
      ]
    : [
        ['true', 'joined'],
        ['false', 'not joined'],
      ]
}

/** Creates a row for a field. */
export function createRow(field: string, kind: RuleKind): RuleRow {
  const [operator = 'eq'] = kind === 'time' ? (['gte'] as const) : OPERATORS_BY_KIND[kind]
  return { field, operator, value: listValues(kind)?.[0]?.[0] ?? (kind === 'time' ? '30 days ago' : '') }
}

/** Converts rules into rows and groups. */
export function toRows(rules: Rules): RuleRows {
  if (rules.type === 'rule') return { join: 'and', rows: [rowOf(rules)] }
  const rows = rules.rules.map((one) => (one.type === 'rule' ? rowOf(one) : toRows(one)))
  return { join: rules.type, rows }
}

const rowOf = ({ field, operator, value = '' }: Rule): RuleRow => ({ field, operator, value: String(value) })

/** Converts rows into rules. Returns null if a value is missing. */
export function toRules({ join, rows }: RuleRows, names: RuleNames): Rules | null {
  const rules = rows.map((one) => (isGroup(one) ? toRules(one, names) : ruleOf(one, names)))
  const complete = rules.filter((rule) => rule !== null)
  return complete.length === rows.length && rows.length > 0 ? { type: join, rules: complete } : null
}

function ruleOf({ field, operator, value: typed }: RuleRow, names: RuleNames): Rule | null {
  if (!needsValue(operator)) return { type: 'rule', field, operator }
  const value = typed.trim()
  if (value === '') return null
  const kind = getRuleKind(field, names)
  if (kind === 'flag' || kind === 'segment') return { type: 'rule', field, operator, value: value === 'true' }
  if (kind !== 'number') return { type: 'rule', field, operator, value }
  return Number.isFinite(Number(value)) ? { type: 'rule', field, operator, value: Number(value) } : null
}

/** Describes a rule, such as “plan is pro”. */
export function describeRule({ field, operator, value }: RuleRow, names: RuleNames): string {
  const kind = getRuleKind(field, names)
  const known = listFieldGroups(names).flatMap(([, fields]) => fields)
  const lost = kind === 'broadcast' ? 'An older broadcast' : 'A field that was deleted'
  const name = known.find(([one]) => one === field)?.[1] ?? lost
  const words = listOperators(kind).find(([one]) => one === operator)?.[1] ?? operator
  if (!needsValue(operator)) return `${name} ${words}`
  const chosen = listValues(kind)?.find(([one]) => one === value)?.[1]
  if (chosen) return operator === 'eq' ? `${name}: ${chosen}` : `${name}: not “${chosen}”`
  return `${name} ${words} ${kind === 'text' ? `“${value}”` : value}`
}
