import { describe, expect, test } from 'vitest'
import { parseRules } from '../../../appliance/mail/read-rules.ts'
import { eachRule, type Rules, resolveRuleTime } from '../../../appliance/mail/rules.ts'
import { Refusal } from '../../../appliance/mail/refusals.ts'

const TOPIC = '0199aaaa-0000-7000-8000-000000000001'
const rule = (field: string, operator: string, value?: unknown) => ({ type: 'rule', field, operator, value })

/** Returns the error about invalid rules. */
function complaint(given: unknown): string {
  try {
    parseRules(given)
  } catch (error) {
    if (error instanceof Refusal) return error.message
    throw error
  }
  return 'none'
}

describe('segment rules', () => {
  test('parses rules with their groups, and drops unknown fields', () => {
    const given = {
      type: 'and',
      extra: 1,
      rules: [
        { ...rule('contact.properties.plan', 'eq', 'pro'), extra: 1 },
        {
          type: 'or',
          rules: [rule('contact.email', 'exists', 'x'), rule(`contact.topics.${TOPIC}`, 'eq', 'opt_in')],
        },
      ],
    }
    const read: Rules = {
      type: 'and',
      rules: [
        { type: 'rule', field: 'contact.properties.plan', operator: 'eq', value: 'pro' },
        {
          type: 'or',
          rules: [
            { type: 'rule', field: 'contact.email', operator: 'exists' },
            { type: 'rule', field: `contact.topics.${TOPIC}`, operator: 'eq', value: 'opt_in' },
          ],
        },
      ],
    }
    expect(parseRules(given)).toEqual(read)
    expect(Array.from(eachRule(read), ([, path]) => path)).toEqual([
      'filter.rules[0]',
      'filter.rules[1].rules[0]',
      'filter.rules[1].rules[1]',
    ])
  })

  test('rejects rules with the path of the error', () => {
    const deep = (levels: number): unknown =>
      levels === 0 ? rule('contact.email', 'exists') : { type: 'and', rules: [deep(levels - 1)] }
    expect(complaint(deep(4))).toBe('none')
    expect(complaint(deep(5))).toContain('at most 4 groups within each other')
    expect(complaint(deep(1000))).toContain('at most 4 groups')
    const wide = (n: number) => ({ type: 'or', rules: Array.from({ length: n }, () => deep(0)) })
    expect(complaint(wide(50))).toBe('none')
    expect(complaint(wide(51))).toContain('`filter.rules`')
    expect(complaint({ type: 'and', rules: [wide(30), wide(30)] })).toContain('at most 50 rules in all')
    for (const [given, said] of [
      [null, '`filter` field'],
      [[], '`filter` field'],
      [{ type: 'not', rules: [] }, '`filter.type`'],
      [{ type: 'and', rules: [] }, '`filter.rules`'],
      [{ type: 'and', rules: [7] }, '`filter.rules[0]`'],
      [rule('contact.shoe_size', 'eq', '44'), '`filter.field`'],
      [rule('constructor', 'eq', '44'), '`filter.field`'],
      [rule('contact.properties.a b', 'eq', '44'), '`filter.field`'],
      [rule('contact.topics.news', 'eq', 'opt_in'), '`filter.field`'],
      [rule('contact.email', 'like', '44'), '`filter.operator`'],
      [rule('contact.email', 'gt', '44'), '`filter.operator`'],
      [rule('contact.email', 'eq', 44), '`filter.value`'],
      [rule('contact.email', 'eq', ''), '`filter.value`'],
      [rule('contact.email', 'eq', 'a\0'), '`filter.value`'],
      [rule('contact.email', 'eq', 'x'.repeat(501)), '`filter.value`'],
      [rule('contact.email', 'eq'), '`filter.value`'],
      [rule('contact.unsubscribed', 'eq', 'true'), '`filter.value`'],
      [rule(`contact.topics.${TOPIC}`, 'eq', 'yes'), '`filter.value`'],
      [rule('contact.created_at', 'gt', 'yesterday'), '`filter.value`'],
    ] as const)
      expect([given, complaint(given)]).toEqual([given, expect.stringContaining(said)])
  })

  test('rules accept dates, instants with a zone, and ages', () => {
    const now = Date.UTC(2026, 4, 3, 12)
    const at = (value: string) => resolveRuleTime(value, now)
    expect(at('2026-05-01')).toBe(Date.UTC(2026, 4, 1))
    expect(at('2026-05-01T12:00:00+02:00')).toBe(Date.UTC(2026, 4, 1, 10))
    expect(at('1 hour ago')).toBe(now - 3_600_000)
    expect(at('2 days ago')).toBe(now - 2 * 86_400_000)
    expect(at('3 weeks ago')).toBe(now - 21 * 86_400_000)
    for (const wrong of [
      '2026-13-01',
      '2026-05-01T12:00',
      '2 years ago',
      '-1 days ago',
      '99999 days ago',
      '',
    ])
      expect([wrong, at(wrong)]).toEqual([wrong, undefined])
  })
})
