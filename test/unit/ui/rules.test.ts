import { describe, expect, test } from 'vitest'
import {
  countRules,
  listFieldGroups,
  listOperators,
  createRow,
  toRows,
  toRules,
  describeRule,
} from '../../../ui/src/state/rules.ts'
import type { Rules } from '../../../appliance/mail/rules.ts'

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
  broadcasts: [{ id: `${id}4`, name: 'May' }],
}

describe('segment rule rows', () => {
  test('rule rows offer the team’s fields, without segments that have rules', () => {
    const groups = listFieldGroups(names).map(([group, fields]) => [group, fields.map(([, words]) => words)])
    expect(groups.slice(2)).toEqual([
      ['Properties', ['plan', 'seats']],
      ['Topics', ['News']],
      ['Segments', ['VIP']],
      ['Broadcasts, without bots', ['May']],
    ])
    expect(listFieldGroups({ properties: [], topics: [], segments: [], broadcasts: [] })).toHaveLength(2)
    expect(listOperators('time')[0]).toEqual(['gt', 'after'])
  })

  test('converts rows to rules with values of the field’s type, and back', () => {
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
    const rules = toRules({ join: 'or', rows }, names)
    expect(rules).toMatchObject({ type: 'or', rules: { length: 7 } })
    expect(rules?.type === 'or' && rules.rules.map((one) => one.type === 'rule' && one.value)).toEqual([
      '12',
      12,
      false,
      true,
      'opt_in',
      '30 days ago',
      undefined,
    ])
    expect(rules && toRows(rules)).toEqual({
      join: 'or',
      rows: rows.map((one) => ({
        ...one,
        value: one.operator === 'exists' ? '' : one.value.trim(),
      })),
    })
  })

  test('does not convert rows while a value is missing or invalid', () => {
    const incomplete = (field: string, value: string) =>
      toRules({ join: 'and', rows: [{ field, operator: 'eq', value }] }, names)
    expect([incomplete('contact.email', ' '), incomplete('contact.properties.seats', 'many')]).toEqual([
      null,
      null,
    ])
    const one = { type: 'rule' as const, field: 'contact.email', operator: 'exists' as const }
    expect(toRows(one)).toEqual({ join: 'and', rows: [{ field: one.field, operator: 'exists', value: '' }] })
    const blank = {
      join: 'or' as const,
      rows: [{ field: 'contact.email', operator: 'eq' as const, value: '' }],
    }
    expect(toRules({ join: 'and', rows: [...toRows(one).rows, blank] }, names)).toBeNull()
    expect(createRow(`contact.topics.${id}1`, 'topic')).toMatchObject({ operator: 'eq', value: 'opt_in' })
  })

  test('converting rules preserves nested groups', () => {
    const rules: Rules = {
      type: 'or',
      rules: [
        { type: 'rule', field: 'contact.properties.seats', operator: 'gte', value: 5 },
        {
          type: 'and',
          rules: [
            { type: 'rule', field: 'contact.unsubscribed', operator: 'eq', value: false },
            { type: 'or', rules: [{ type: 'rule', field: 'contact.email', operator: 'exists' }] },
          ],
        },
      ],
    }
    expect(toRules(toRows(rules), names)).toEqual(rules)
    expect(countRules(toRows(rules))).toBe(3)
  })

  test('describes rules in words', () => {
    const words = (field: string, operator: 'eq' | 'gte' | 'is_empty', value: string) =>
      describeRule({ field, operator, value }, names)
    expect([
      words('contact.first_name', 'eq', 'Ada'),
      words('contact.properties.seats', 'gte', '5'),
      words('contact.last_clicked_at', 'is_empty', ''),
      words('contact.last_opened_at', 'gte', '30 days ago'),
      words(`contact.topics.${id}1`, 'eq', 'opt_out'),
      words(`contact.segments.${id}9`, 'eq', 'true'),
    ]).toEqual([
      'First name is “Ada”',
      'seats is at least 5',
      'Last clicked a link never',
      'Last opened an email since 30 days ago',
      'News: not subscribed',
      'A field that was deleted: joined',
    ])
  })
})
