import { CalendarDate, endOfMonth, getDayOfWeek, parseDate, type DateValue } from '@internationalized/date'
import { isDay, type Days } from './days.ts'

/** Calendar days without a time zone. Loaded only with the calendar. */

/** The selected range. `end` is undefined until it is selected. */
export interface CalendarRange {
  start: DateValue | undefined
  end: DateValue | undefined
}

type WeekDay = 0 | 1 | 2 | 3 | 4 | 5 | 6

const SUNDAY = new CalendarDate(2026, 11, 1)

/** Returns the first day of the week in `locale`; 0 is Sunday. */
export const getFirstWeekday = (locale: string): WeekDay =>
  ((7 - getDayOfWeek(SUNDAY, locale)) % 7) as WeekDay

/** Parses a day; null if it is invalid. */
const calendarDay = (text: string): CalendarDate | null => (isDay(text) ? parseDate(text) : null)

/** Returns a range for the calendar. Both ends are undefined if a day is invalid. */
export function toCalendarRange(days: Days | null): CalendarRange {
  const [start, end] = [calendarDay(days?.from ?? ''), calendarDay(days?.to ?? '')]
  return start && end && start.compare(end) <= 0 ? { start, end } : { start: undefined, end: undefined }
}

/**
 * Returns a day in the first of the `months` that are visible. If the range reaches the current month, that is the last
 * one, since later days can't be selected.
 */
export function getFirstVisibleDay(range: CalendarRange, today: CalendarDate, months: number): CalendarDate {
  const latest = today.set({ day: 1 }).subtract({ months: months - 1 })
  const start = range.start && new CalendarDate(range.start.year, range.start.month, range.start.day)
  if (!start) return months === 1 ? today : latest
  return start.compare(endOfMonth(latest)) <= 0 ? start : latest
}
