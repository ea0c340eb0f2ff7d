import { describe, expect, test } from 'vitest'
import {
  countCharacters,
  toInboxText,
  describePreviewLength,
  getSenderName,
  describeSubjectLength,
} from '../../../ui/src/state/inbox-line.ts'

describe('text shown in an inbox', () => {
  test('counts characters as readers see them', () => {
    expect(countCharacters('👩‍👩‍👧‍👦 é')).toBe(3)
    expect(countCharacters('')).toBe(0)
  })

  test('hints show the length of a subject, and which apps cut it off', () => {
    expect(describeSubjectLength('x')).toBe('1 character. Phones show about 40.')
    expect(describeSubjectLength('x'.repeat(41))).toBe('41 characters. Phones cut it after about 40.')
    expect(describeSubjectLength('x'.repeat(71))).toBe('71 characters. Phones and computers cut it.')
    expect(describePreviewLength('')).toBe('Empty: mail apps show the beginning of the email.')
    expect(describePreviewLength('👋 Hi')).toBe('4 characters. Mail apps show about 90 after the subject.')
  })

  test('shows the display name of the sender, or the address if there is none', () => {
    expect(getSenderName('Ada Lovelace <ada@example.com>')).toBe('Ada Lovelace')
    expect(getSenderName('"Acme, \\"Inc\\"" <a@example.com>')).toBe('Acme, "Inc"')
    expect(getSenderName('<a@example.com>')).toBe('a@example.com')
    expect(getSenderName(' a@example.com ')).toBe('a@example.com')
  })

  test('shows text on one line, of limited length and without invisible characters', () => {
    expect(toInboxText('  Hi\n\n Ada\u200b\u202e! ')).toBe('Hi Ada!')
    expect(toInboxText('a\u200c\u00a0\u200cb')).toBe('a b')
    expect(toInboxText('x'.repeat(1_000_000))).toHaveLength(200)
  })
})
