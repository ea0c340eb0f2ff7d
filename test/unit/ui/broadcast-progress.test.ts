import { expect, test } from 'vitest'
import { progressOf, shareWords } from '../../../ui/src/state/broadcast-progress.ts'

test('an address on the suppression list counts neither as sent nor as a recipient', () => {
  const counts = { delivered: 3, clicked: 1, bounced: 1, suppressed: 2, queued: 3 }
  expect(progressOf({ recipients: 10, counts })).toEqual({
    recipients: 8,
    tried: 5,
    delivered: 4,
    opened: 1,
    clicked: 1,
    bounced: 1,
  })
})

test('a share of nothing has no words', () => {
  expect(shareWords(0, 0, 'sent')).toBe('')
  expect(shareWords(1, 8, 'sent')).toBe('13% of sent')
})
