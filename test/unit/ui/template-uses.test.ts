import { expect, test } from 'vitest'
import { describeTemplateUses } from '../../../ui/src/state/template-samples.ts'

test('describes the uses of a template in words, and marks truncated counts', () => {
  expect(describeTemplateUses({ emails: 1204, automations: 2, drafts: 1 })).toEqual([
    '1,204 emails in 30 days',
    '2 automations',
    '1 draft',
  ])
  expect(describeTemplateUses({ emails: 10_000, automations: 0, drafts: 0 })).toEqual([
    '10,000+ emails in 30 days',
  ])
  expect(describeTemplateUses({ emails: 0, automations: 0, drafts: 0 })).toEqual([])
})
