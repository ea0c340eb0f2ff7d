/** Filters of contacts by time and property. They are sent to the server as rules. Pure. */
import { OPERATORS_BY_KIND, type Rule, type RuleOperator, type Rules } from '../../../appliance/mail/rules.ts'
import { needsValue } from './rules.ts'

/** Choices of when contacts were added, by their value in the query string. */
export const ADDED_CHOICES = [
  ['7', 'Last 7 days'],
  ['30', 'Last 30 days'],
  ['90', 'Last 90 days'],
  ['before-365', 'Over a year ago'],
] as const

/** Choices of when a person last opened or clicked, by their value in the query string. */
export const OPEN_OR_CLICK_CHOICES = [
  ['30', 'Last 30 days'],
  ['90', 'Last 90 days'],
  ['before-90', 'Not in 90 days'],
  ['never', 'Never'],
] as const

const ACTIVITY = ['contact.last_opened_at', 'contact.last_clicked_at']

const rule = (field: string, operator: RuleOperator, value?: Rule['value']): Rule => ({
  type: 'rule' as const,
  field,
  operator,
  ...(value !== undefined && { value }),
})
const group = (type: 'and' | 'or', rules: Rules[]): Rules => ({ type, rules })

/** Parses `30` or `before-30`; undefined for anything else. */
function readAge(text: string): { before: boolean; value: string } | undefined {
  const [, before, days] = /^(before-)?(\d{1,4})$/.exec(text) ?? []
  return days === undefined ? undefined : { before: before !== undefined, value: `${days} days ago` }
}

function addedRule(text: string): Rules[] {
  const age = readAge(text)
  return age ? [rule('contact.created_at', age.before ? 'lt' : 'gte', age.value)] : []
}

function engagedRule(text: string): Rules[] {
  const never = ACTIVITY.map((field) => rule(field, 'is_empty'))
  if (text === 'never') return [group('and', never)]
  const age = readAge(text)
  if (!age) return []
  if (!age.before)
    return [
      group(
        'or',
        ACTIVITY.map((field) => rule(field, 'gte', age.value)),
      ),
    ]
  const silent = ACTIVITY.map((field, at) => group('or', [rule(field, 'lt', age.value), never[at]!]))
  return [group('and', silent)]
}

/** Returns the rule about a property; none if its value is missing or invalid. */
function propertyRule(query: URLSearchParams): Rules[] {
  const [key, value] = [query.get('property') ?? '', query.get('value') ?? '']
  const kind = query.get('kind') === 'number' ? 'number' : 'text'
  const operator = OPERATORS_BY_KIND[kind].find((one) => one === query.get('is')) ?? 'exists'
  if (key === '') return []
  const field = `contact.properties.${key}`
  if (!needsValue(operator)) return [rule(field, operator)]
  if (value === '' || (kind === 'number' && !Number.isFinite(Number(value)))) return []
  return [rule(field, operator, kind === 'number' ? Number(value) : value)]
}

/** Returns the rules for the filters in the query string; undefined if there are none. */
export function parseContactRules(query: URLSearchParams): Rules | undefined {
  const all = [
    ...addedRule(query.get('added') ?? ''),
    ...engagedRule(query.get('engaged') ?? ''),
    ...propertyRule(query),
  ]
  return all.length > 1 ? group('and', all) : all[0]
}
