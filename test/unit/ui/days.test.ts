import { CalendarDate } from '@internationalized/date'
import { describe, expect, test } from 'vitest'
import { getFirstVisibleDay, toCalendarRange, getFirstWeekday } from '../../../ui/src/state/calendar.ts'
import { startOfDay, addDays, formatDays, isDay, parseTimeRange } from '../../../ui/src/state/days.ts'
import { parseEmailTime, setDays, setPreset } from '../../../ui/src/state/email-time.ts'
import { findSuggestions } from '../../../ui/src/state/suggestions.ts'

describe('date ranges', () => {
  test('accepts only existing days, and formats date ranges', () => {
    expect(['2024-02-29', '2023-02-29', '2024-2-9', '24h', ''].map(isDay)).toEqual([
      true,
      false,
      false,
      false,
      false,
    ])
    expect([addDays('2024-02-28', 2), addDays('2024-01-01', -1)]).toEqual(['2024-03-01', '2023-12-31'])
    expect(formatDays({ from: '2024-02-28', to: '2024-02-29' })).toBe('2024-02-28 to 2024-02-29')
    expect(formatDays({ from: '2024-02-28', to: '2024-02-28' })).toBe('2024-02-28')
  })

  test('a date starts at midnight in UTC or the viewer’s zone, and other text is unchanged', () => {
    expect(startOfDay('2024-03-10', true)).toBe('2024-03-10T00:00:00.000Z')
    expect(startOfDay('2024-03-10', false)).toBe(new Date(2024, 2, 10).toISOString())
    expect(startOfDay('yesterday', true)).toBe('yesterday')
  })

  test('recognizes a date range as a preset, whole days, open-ended or other', () => {
    const presets = [
      ['', 'Any time'],
      ['24h', 'Last 24 hours'],
    ] as const
    const read = (after: string, before: string) => parseTimeRange(after, before, presets)
    expect(read('', '')).toEqual({ words: 'Any time', preset: '', days: null })
    expect(read('24h', '')).toEqual({ words: 'Last 24 hours', preset: '24h', days: null })
    expect(read('2024-03-10', '2024-03-12')).toEqual({
      words: '2024-03-10 to 2024-03-11',
      preset: null,
      days: { from: '2024-03-10', to: '2024-03-11' },
    })
    expect(read('2024-03-10', '')).toEqual({
      words: 'after 2024-03-10',
      preset: null,
      days: { from: '2024-03-10', to: '' },
    })
    expect(read('2h', '1h')).toEqual({ words: 'after 2h, before 1h', preset: null, days: null })
    expect(read('', '2024-03-12')).toEqual({ words: 'before 2024-03-12', preset: null, days: null })
  })

  test('adds a date range to an email search and reads it back', () => {
    const search = setDays('Order to:ada', { from: '2024-03-10', to: '2024-03-31' })
    expect(search).toBe('Order to:ada after:2024-03-10 before:2024-04-01')
    expect(parseEmailTime(search).days).toEqual({ from: '2024-03-10', to: '2024-03-31' })
    expect(setPreset(search, '7d')).toBe('Order to:ada after:7d')
    expect(parseEmailTime('Order after:7d').words).toBe('Last 7 days')
    expect(setPreset(search, '')).toBe('Order to:ada')
  })
})

describe('the calendar', () => {
  test('the calendar shows the start of the selection, and never a month after the current one', () => {
    const today = new CalendarDate(2024, 3, 20)
    const shown = (from: string, to: string, months: number) =>
      getFirstVisibleDay(toCalendarRange({ from, to }), today, months).toString()
    expect(shown('2024-03-10', '2024-03-20', 2)).toBe('2024-02-01')
    expect(shown('2024-03-10', '2024-03-20', 1)).toBe('2024-03-10')
    expect(shown('2023-11-10', '2024-03-20', 2)).toBe('2023-11-10')
    expect(shown('', '', 2)).toBe('2024-02-01')
    expect(shown('2024-03-10', '2024-03-09', 1)).toBe('2024-03-20')
  })

  test('the calendar starts weeks on the day customary in the language', () => {
    expect(['en-US', 'en-GB', 'de', 'ar-EG'].map(getFirstWeekday)).toEqual([0, 1, 1, 6])
  })
})

describe('combo box suggestions', () => {
  const all = ['zebra.example', 'not-alpha.example', 'Alpha.example'].map((one) => [one, one] as const)
  const words = (text: string) => findSuggestions(all, text).map(([, shown]) => shown)

  test('suggestions contain the typed text in any case, with prefix matches first, then alphabetically', () => {
    expect(words('')).toEqual(['Alpha.example', 'not-alpha.example', 'zebra.example'])
    expect(words(' ALPHA ')).toEqual(['Alpha.example', 'not-alpha.example'])
    expect(words('nothing')).toEqual([])
  })
})
