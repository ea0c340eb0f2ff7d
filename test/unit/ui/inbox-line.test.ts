import { describe, expect, test } from 'vitest'
import {
  countLetters,
  inboxText,
  previewHint,
  senderName,
  subjectHint,
} from '../../../ui/src/state/inbox-line.ts'

describe('what an inbox shows', () => {
  test('characters are counted as readers see them', () => {
    expect(countLetters('👩‍👩‍👧‍👦 é')).toBe(3)
    expect(countLetters('')).toBe(0)
  })

  test('hints say how long a subject is, and who cuts it', () => {
    expect(subjectHint('x')).toBe('1 character. Phones show about 40.')
    expect(subjectHint('x'.repeat(41))).toBe('41 characters. Phones cut it after about 40.')
    expect(subjectHint('x'.repeat(71))).toBe('71 characters. Phones and computers cut it.')
    expect(previewHint('')).toBe('Empty: mail apps show the beginning of the email.')
    expect(previewHint('👋 Hi')).toBe('4 characters. Mail apps show about 90 after the subject.')
  })

  test('the sender is the display name, or the address without one', () => {
    expect(senderName('Ada Lovelace <ada@example.com>')).toBe('Ada Lovelace')
    expect(senderName('"Acme, \\"Inc\\"" <a@example.com>')).toBe('Acme, "Inc"')
    expect(senderName('<a@example.com>')).toBe('a@example.com')
    expect(senderName(' a@example.com ')).toBe('a@example.com')
  })

  test('text is one line without what readers do not see, and bounded', () => {
    expect(inboxText('  Hi\n\n Ada\u200b\u202e! ')).toBe('Hi Ada!')
    expect(inboxText('a\u200c\u00a0\u200cb')).toBe('a b')
    expect(inboxText('x'.repeat(1_000_000))).toHaveLength(200)
  })
})
