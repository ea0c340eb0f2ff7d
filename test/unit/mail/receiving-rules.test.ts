import { expect, test } from 'vitest'
import { findRule, type ReceivingRule } from '../../../appliance/mail/receiving-rules.ts'

const refused = (pattern: string): ReceivingRule[] => [{ pattern, action: 'refuse' }]

test.each([
  ['sales', 'SALES', 'refuse'],
  ['sales', 'sales+1', 'keep'],
  ['sales+*', 'sales+', 'refuse'],
  ['*', 'anything', 'refuse'],
  ['*', 'postmaster', 'keep'],
  ['*', 'Abuse', 'keep'],
  ['a*b', 'ab', 'refuse'],
  ['a*b', 'a', 'keep'],
  ['ab*ba', 'aba', 'keep'],
  ['*x*y*', 'aybxcyd', 'refuse'],
  ['*x*y*', 'ayx', 'keep'],
  ['.*', 'ab', 'keep'],
])('with the rule %s, mail to %s gets the action %s', (pattern, local, action) => {
  expect(findRule(refused(pattern), local).action).toBe(action)
})

test('the first matching rule applies', () => {
  const rules: ReceivingRule[] = [
    { pattern: 'a*', action: 'drop' },
    { pattern: 'ab', action: 'refuse' },
    { pattern: '*', action: 'refuse' },
  ]
  expect(['ab', 'b'].map((local) => findRule(rules, local).action)).toEqual(['drop', 'refuse'])
})

test('a pattern with many wildcards matches quickly', () => {
  const begun = process.cpuUsage().user
  for (let i = 0; i < 1000; i++) findRule(refused(`${'*a'.repeat(31)}*b`), 'a'.repeat(64))
  expect(process.cpuUsage().user - begun).toBeLessThan(2_000_000)
})
