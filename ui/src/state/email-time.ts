/** The stretch of time in a search of emails: `after:` and `before:`. Pure. */
import { daysLater, stretchOf, type Days, type Stretch } from './days.ts'
import { tokenOf, withToken } from './email-search.ts'
import type { Suggestion } from './suggestions.ts'

/** Stretches up to now, by the value of `after:`. */
export const EMAIL_TIMES: readonly Suggestion[] = [
  ['', 'Any time'],
  ['1h', 'Last hour'],
  ['24h', 'Last 24 hours'],
  ['7d', 'Last 7 days'],
  ['30d', 'Last 30 days'],
]

/** What a search says of the time. */
export const emailTime = (search: string): Stretch =>
  stretchOf(tokenOf(search, 'after') ?? '', tokenOf(search, 'before') ?? '', EMAIL_TIMES)

/** The search with one of `EMAIL_TIMES`. */
export const withPreset = (search: string, preset: string): string =>
  withToken(withToken(search, 'before', null), 'after', preset || null)

/** The search with days, the last one in it. */
export const withDays = (search: string, { from, to }: Days): string =>
  withToken(withToken(search, 'after', from), 'before', daysLater(to, 1))
