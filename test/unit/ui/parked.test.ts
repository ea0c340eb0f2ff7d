import { describe, expect, test } from 'vitest'
import { MOST_ABSENCE_MS, parked, unparked } from '../../../ui/src/state/parked.ts'

const NOW = Date.UTC(2026, 0, 1)

describe('an invitation saved during sign-in with a provider', () => {
  test('expires after the time limit', () => {
    const text = parked('the-token', NOW)
    expect(unparked(text, NOW)).toBe('the-token')
    expect(unparked(text, NOW + MOST_ABSENCE_MS - 1)).toBe('the-token')
    expect(unparked(text, NOW + MOST_ABSENCE_MS)).toBe('')
  })

  test.each([null, '', 'token', '[]', '"text"', '{"token":7,"until":9e15}', '{"token":"x"}', 'null'])(
    'is empty if %j was stored',
    (text) => {
      expect(unparked(text, NOW)).toBe('')
    },
  )
})
