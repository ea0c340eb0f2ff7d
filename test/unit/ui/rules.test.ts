import { describe, expect, test } from 'vitest'
import { fieldGroups, operatorChoices, rowFor, rowsOf, rulesOf } from '../../../ui/src/state/rules.ts'

const id = '0199aaaa-0000-7000-8000-00000000000'
const names = {
  properties: [
    { key: 'plan', type: 'string' as const },
    { key: 'seats', type: 'number' as const },
  ],
  topics: [{ id: `${id}1`, name: 'News' }],
  segments: [
    { id: `${id}2`, name: 'VIP', filter: null },
    { id: `${id}3`, name: 'Computed', filter: {} },
  ],
}

describe('rows of rules', () => {
  test('offer what the team has, without segments that have rules', () => {
    const groups = fieldGroups(names).map(([group, fields]) => [group, fields.map(([, words]) => words)])
    expect(groups.slice(2)).toEqual([
      ['Properties', ['plan', 'seats']],
      ['Topics', ['News']],
      ['Segments', ['VIP']],
    ])
    expect(fieldGroups({ properties: [], topics: [], segments: [] })).toHaveLength(2)
    expect(operatorChoices('time')[0]).toEqual(['gt', 'after'])
  })

  test('mean rules of the types of their fields', () => {
    const row = (field: string, operator: 'eq' | 'gte' | 'exists', value: string) => ({
      field,
      operator,
      value,
    })
    const rows = [
      row('contact.properties.plan', 'eq', ' 12 '),
      row('contact.properties.seats', 'eq', '12'),
      row('contact.unsubscribed', 'eq', 'false'),
      row(`contact.segments.${id}2`, 'eq', 'true'),
      row(`contact.topics.${id}1`, 'eq', 'opt_in'),
      row('contact.last_clicked_at', 'gte', '30 days ago'),
      row('contact.email', 'exists', 'left over'),
    ]
    const rules = rulesOf({ join: 'or', rows }, names)
    expect(rules).toMatchObject({ type: 'or', rules: { length: 7 } })
    expect(rules?.type === 'or' && rules.rules.map((one) => one.type === 'rule' && one.value)).toEqual([
      ...['12', 12, false, true, 'opt_in', '30 days ago', undefined],
    ])
    expect(rules && rowsOf(rules)).toEqual({
      join: 'or',
      rows: rows.map((one) => ({
        ...one,
        value: one.operator === 'exists' ? '' : one.value.trim(),
      })),
    })
  })

  test('mean nothing while a value is missing or wrong, and groups within groups are no rows', () => {
    const incomplete = (field: string, value: string) =>
      rulesOf({ join: 'and', rows: [{ field, operator: 'eq', value }] }, names)
    expect([incomplete('contact.email', ' '), incomplete('contact.properties.seats', 'many')]).toEqual([
      ...[null, null],
    ])
    const one = { type: 'rule' as const, field: 'contact.email', operator: 'exists' as const }
    expect(rowsOf(one)).toEqual({ join: 'and', rows: [{ field: one.field, operator: 'exists', value: '' }] })
    expect(rowsOf({ type: 'and', rules: [{ type: 'or', rules: [one] }] })).toBeUndefined()
    expect(rowFor(`contact.topics.${id}1`, 'topic')).toMatchObject({ operator: 'eq', value: 'opt_in' })
  })
})
