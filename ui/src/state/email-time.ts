/** The time range of an email search: `after:` and `before:`. Pure. */
import { daysLater, stretchOf, type Days, type Stretch } from './days.ts'
import { tokenOf, withToken } from './email-search.ts'
import type { Suggestion } from './suggestions.ts'

/** Time ranges up to now, by the value of `after:`. */
export const EMAIL_TIMES: readonly Suggestion[] = [
  ['', 'Any time'],
  ['1h', 'Last hour'],
  ['24h', 'Last 24 hours'],
  ['7d', 'Last 7 days'],
  ['30d', 'Last 30 days'],
]

/** Returns the time range of a search. */
export const emailTime = (search: string): Stretch =>
  stretchOf(tokenOf(search, 'after') ?? '', tokenOf(search, 'before') ?? '', EMAIL_TIMES)

/** Sets one of `EMAIL_TIMES` in a search. */
export const withPreset = (search: string, preset: string): string =>
  withToken(withToken(search, 'before', null), 'after', preset || null)

/** Sets a range of days in a search; the last day is inclusive. */
export const withDays = (search: string, { from, to }: Days): string =>
  withToken(withToken(search, 'after', from), 'before', daysLater(to, 1))
