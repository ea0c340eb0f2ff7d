import { describe, expect, test } from 'vitest'
import {
  MAX_INVITATION_AGE_MS,
  serializeInvitation,
  parseInvitation,
} from '../../../ui/src/state/stored-invitation.ts'

const NOW = Date.UTC(2026, 0, 1)

describe('an invitation saved during sign-in with a provider', () => {
  test('a saved invitation expires after the time limit', () => {
    const text = serializeInvitation('the-token', NOW)
    expect(parseInvitation(text, NOW)).toBe('the-token')
    expect(parseInvitation(text, NOW + MAX_INVITATION_AGE_MS - 1)).toBe('the-token')
    expect(parseInvitation(text, NOW + MAX_INVITATION_AGE_MS)).toBe('')
  })

  test.each([null, '', 'token', '[]', '"text"', '{"token":7,"until":9e15}', '{"token":"x"}', 'null'])(
    'there is no saved invitation if %j was stored',
    (text) => {
      expect(parseInvitation(text, NOW)).toBe('')
    },
  )
})
