import { describe, expect, test } from 'vitest'
import { uiStrings } from './world/ui-strings.ts'

/** Words that docs/glossary.md replaces, and turns of phrase that nobody would write. */
const OLD_WORDS: readonly RegExp[] = [
  /\btr(y|ies|ied) (it )?again later\b/i,
  /\bis tried again\b/i,
  /\bgiven up\b/i,
  /\bgoes on in\b/i,
  /\bwhat waits\b/i,
  /\bwhy it waits\b/i,
  /\bthe (week|day|month|period|days) before\b/i,
  /\byounger\b/i,
  /\bapps? for codes\b/i,
  /\bof late\b/i,
  /\bput together\b/i,
  /\bon the disk\b/i,
  /\b(is|are|was|were) told\b/i,
  /\bby machines\b/i,
  /\bletter\b/i,
  /\bthat is all\b/i,
  /\bthere is no such\b/i,
  /\bcould not be (loaded|counted|saved|read)\b/i,
  /\b(is|are) looked at\b/i,
  /\bbeside the\b/i,
  /\bhtml\b/,
]

describe('texts of the dashboard', () => {
  const all = uiStrings()
  const where = (wrong: (text: string) => boolean): string[] =>
    all.filter(({ text }) => wrong(text)).map(({ file, line, text }) => `${file}:${line}: ${text}`)

  test('extracts the texts of the dashboard from the sources', () => {
    expect(all.length).toBeGreaterThan(1500)
    expect(all.map(({ text }) => text)).toContain('Close')
  })

  test('texts of the dashboard contain no words that the glossary replaces', () => {
    expect(where((text) => OLD_WORDS.some((word) => word.test(text)))).toEqual([])
  })

  test('texts of the dashboard write percentages without a space', () => {
    expect(where((text) => /[\d…] %/.test(text))).toEqual([])
  })

  test('texts of the dashboard have at most 30 words', () => {
    expect(where((text) => text.split(' ').length > 30)).toEqual([])
  })
})
