import { expect, test } from 'vitest'
import { usesInWords } from '../../../ui/src/state/template-samples.ts'

test('what uses a template is said in words, and counts that ended are marked', () => {
  expect(usesInWords({ emails: 1204, automations: 2, drafts: 1 })).toEqual([
    '1,204 emails in 30 days',
    '2 automations',
    '1 draft',
  ])
  expect(usesInWords({ emails: 10_000, automations: 0, drafts: 0 })).toEqual(['10,000+ emails in 30 days'])
  expect(usesInWords({ emails: 0, automations: 0, drafts: 0 })).toEqual([])
})
