import { expect, test } from 'vitest'
import { toCondition, rulePath } from '../../../ui/src/state/automation-values.ts'
import type { RuleRow, RuleRows } from '../../../ui/src/state/rules.ts'

/** Tests where the rules of a condition are in the automation that is saved. */

const row = (field: string): RuleRow => ({ field, operator: 'eq', value: 'x' })
const group = (...rows: RuleRows['rows']): RuleRows => ({ join: 'or', rows })

/** Reads a path such as `rules[1].rules[0]`. */
const valueAt = (from: unknown, path: string): unknown =>
  path
    .split('.')
    .filter((part) => part !== '')
    .reduce<unknown>((value, part) => {
      const at = Number(/\d+/.exec(part)![0])
      return (value as { rules: unknown[] }).rules[at]
    }, from)

test('the path of a rule leads to it in the saved condition, also where a group has a single rule', () => {
  const conditions: [RuleRows, Record<string, string>][] = [
    [group(row('a')), { a: '1' }],
    [group(row('a'), row('b')), { a: '1', b: '2' }],
    [group(row('a'), group(row('b'), row('c'))), { a: '1', b: '2.1', c: '2.2' }],
    [group(row('a'), group(row('b'))), { a: '1', b: '2.1' }],
    [group(group(row('a'), group(row('b'), row('c')))), { a: '1.1', b: '1.2.1', c: '1.2.2' }],
  ]
  for (const [rows, places] of conditions)
    for (const [field, place] of Object.entries(places))
      expect(valueAt(toCondition(rows), rulePath(rows, place))).toMatchObject({ type: 'rule', field })
  expect(rulePath(group(row('a')), '1')).toBe('')
  expect(rulePath(group(row('a'), group(row('b'), row('c'))), '2.1')).toBe('rules[1].rules[0]')
})
