/** The time range of an email search: `after:` and `before:`. Pure. */
import { addDays, parseTimeRange, type Days, type TimeRange } from './days.ts'
import { getToken, setToken } from './email-search.ts'
import type { Suggestion } from './suggestions.ts'

/** Time ranges up to now, by the value of `after:`. */
export const EMAIL_TIMES: readonly Suggestion[] = [
  ['', 'Any time'],
  ['1h', 'Last hour'],
  ['24h', 'Last 24 hours'],
  ['7d', 'Last 7 days'],
  ['30d', 'Last 30 days'],
]

/** Returns the time range in a search. */
export const parseEmailTime = (search: string): TimeRange =>
  parseTimeRange(getToken(search, 'after') ?? '', getToken(search, 'before') ?? '', EMAIL_TIMES)

/** Sets one of `EMAIL_TIMES` in a search. */
export const setPreset = (search: string, preset: string): string =>
  setToken(setToken(search, 'before', null), 'after', preset || null)

/** Sets a range of days in a search; the last day is inclusive. */
export const setDays = (search: string, { from, to }: Days): string =>
  setToken(setToken(search, 'after', from), 'before', addDays(to, 1))
