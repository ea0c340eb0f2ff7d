/** Values and conditions of automation steps as editable forms. Pure. */
import type { StepValue } from '../../../appliance/mail/automation.ts'
import type { Rule, Rules } from '../../../appliance/mail/rules.ts'
import type { EventSchema } from '../../../appliance/mail/custom-event.ts'
import { isGroup, type RuleRow, type RuleRows, needsValue } from './rules.ts'

/** The source of a value. `none`: not set. `json`: any value that isn't text, such as a number. */
export type ValueSource = 'none' | 'text' | 'json' | 'field' | 'empty'

/** A value as typed. */
export interface ValueForm {
  source: ValueSource
  text: string
}

export const NO_VALUE: ValueForm = { source: 'none', text: '' }

export const SOURCE_LABELS: Record<ValueSource, string> = {
  none: 'Not set',
  text: 'Text',
  json: 'Number, true or false',
  field: 'Field of the event or contact',
  empty: 'Empty',
}

/** Converts a value into a form. */
export function toValueForm(value: unknown): ValueForm {
  if (value === undefined) return NO_VALUE
  if (value === null) return { source: 'empty', text: '' }
  if (typeof value === 'string') return { source: 'text', text: value }
  if (typeof value === 'object' && 'var' in value && typeof value.var === 'string')
    return { source: 'field', text: value.var }
  return { source: 'json', text: JSON.stringify(value) }
}

/**
 * Converts a form to a value; undefined if no value is set. Invalid JSON is kept as text, and the server reports the
 * error.
 */
function valueOf({ source, text }: ValueForm): StepValue | undefined {
  if (source === 'none') return undefined
  if (source === 'empty') return null
  if (source === 'field') return { var: text.trim() }
  if (source === 'text') return text
  try {
    return JSON.parse(text) as StepValue
  } catch {
    return text
  }
}

/** Returns the values of all forms that have one, by name. */
export const toValues = (forms: Readonly<Record<string, ValueForm>>): Record<string, StepValue> =>
  Object.fromEntries(
    Object.entries(forms).flatMap(([name, form]) => {
      const value = valueOf(form)
      return value === undefined ? [] : [[name, value] as const]
    }),
  )

/** Parses the text in a rule: a number or Boolean if it is written as one, otherwise text. */
function ruleValue(text: string): string | number | boolean {
  const typed = text.trim()
  if (typed === 'true' || typed === 'false') return typed === 'true'
  return typed !== '' && String(Number(typed)) === typed ? Number(typed) : typed
}

function ruleRow({ field, operator, value }: Rule): RuleRow {
  // A comparison with null checks whether there is a value.
  if ((value as unknown) === null)
    return { field, operator: operator === 'eq' ? 'is_empty' : 'exists', value: '' }
  return { field, operator, value: String(value ?? '') }
}

/** Converts a condition into rows and groups. */
export function toRuleRows(rules: Rules): RuleRows {
  if (rules.type === 'rule') return { join: 'and', rows: [ruleRow(rules)] }
  const rows = rules.rules.map((one) => (one.type === 'rule' ? ruleRow(one) : toRuleRows(one)))
  return { join: rules.type, rows }
}

/** Converts rows and groups into a condition. A single rule needs no group. */
export function toCondition({ join, rows }: RuleRows): Rules {
  const rules = rows.map((one): Rules => {
    if (isGroup(one)) return toCondition(one)
    const { field, operator, value } = one
    const rule = { type: 'rule', field: field.trim(), operator } as const
    return needsValue(operator) ? { ...rule, value: ruleValue(value) } : rule
  })
  return rules.length === 1 ? rules[0]! : { type: join, rules }
}

/**
 * Returns the path of a rule in the condition that `conditionOf` returns, such as `rules[1].rules[0]`; empty for a
 * single rule.
 * @param place the position of the rule, such as `2.1`
 */
export function rulePath(given: RuleRows, place: string): string {
  const path: string[] = []
  let group: RuleRows | undefined = given
  for (const at of place.split('.').map((part) => Number(part) - 1)) {
    if (!group) break
    if (group.rows.length > 1) path.push(`rules[${at}]`)
    const one: RuleRow | RuleRows | undefined = group.rows[at]
    group = one && isGroup(one) ? one : undefined
  }
  return path.join('.')
}

export const BLANK_RULE: RuleRow = { field: '', operator: 'eq', value: '' }

/**
 * Lists the fields that values and conditions can refer to.
 * @param waits the events that the automation waits for
 */
export function listFieldNames(
  events: readonly { name: string; schema: EventSchema | null }[],
  { triggers, waits }: { triggers: readonly string[]; waits: readonly string[] },
  properties: readonly { key: string }[],
): string[] {
  const schemaOf = (name: string) => Object.keys(events.find((one) => one.name === name)?.schema ?? {})
  const contact = ['email', 'first_name', 'last_name', 'unsubscribed', 'created_at', 'id']
  return [
    ...new Set([
      ...triggers.flatMap(schemaOf).map((field) => `event.${field}`),
      ...contact.map((field) => `contact.${field}`),
      ...properties.map(({ key }) => `contact.properties.${key}`),
      ...waits.flatMap((name) => schemaOf(name).map((field) => `wait_events.${name}.${field}`)),
    ]),
  ]
}
