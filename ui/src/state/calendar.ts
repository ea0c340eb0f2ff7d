import { CalendarDate, endOfMonth, getDayOfWeek, parseDate, type DateValue } from '@internationalized/date'
import { isDay, type Days } from './days.ts'

/** Calendar days without a time zone. Only loaded with the calendar. */

/** The selected range; people select `end` last. */
export interface CalendarRange {
  start: DateValue | undefined
  end: DateValue | undefined
}

type WeekDay = 0 | 1 | 2 | 3 | 4 | 5 | 6

const SUNDAY = new CalendarDate(2026, 11, 1)

/** Returns the first day of the week in `locale`; 0 is Sunday. */
export const weekBegins = (locale: string): WeekDay => ((7 - getDayOfWeek(SUNDAY, locale)) % 7) as WeekDay

/** Returns null for an invalid day. */
const calendarDay = (text: string): CalendarDate | null => (isDay(text) ? parseDate(text) : null)

/** Returns a range for the calendar; undefined ends if the days are invalid. */
export function rangeIn(days: Days | null): CalendarRange {
  const [start, end] = [calendarDay(days?.from ?? ''), calendarDay(days?.to ?? '')]
  return start && end && start.compare(end) <= 0 ? { start, end } : { start: undefined, end: undefined }
}

/**
 * Returns a day in the first visible month. The last of `months` is the current month if the range reaches into it,
 * since later days can't be selected.
 */
export function firstShown(range: CalendarRange, today: CalendarDate, months: number): CalendarDate {
  const latest = today.set({ day: 1 }).subtract({ months: months - 1 })
  const start = range.start && new CalendarDate(range.start.year, range.start.month, range.start.day)
  if (!start) return months === 1 ? today : latest
  return start.compare(endOfMonth(latest)) <= 0 ? start : latest
}
