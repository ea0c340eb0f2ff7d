import { CalendarDate, endOfMonth, getDayOfWeek, parseDate, type DateValue } from '@internationalized/date'
import { isDay, type Days } from './days.ts'

/** Days as the calendar has them: of no zone. Loaded with the calendar alone. */

/** What is chosen in the calendar; `end` comes last. */
export interface CalendarRange {
  start: DateValue | undefined
  end: DateValue | undefined
}

type WeekDay = 0 | 1 | 2 | 3 | 4 | 5 | 6

const SUNDAY = new CalendarDate(2026, 11, 1)

/** The day on which weeks begin where `locale` is spoken; 0 is Sunday. */
export const weekBegins = (locale: string): WeekDay => ((7 - getDayOfWeek(SUNDAY, locale)) % 7) as WeekDay

/** Null for what is no day. */
const calendarDay = (text: string): CalendarDate | null => (isDay(text) ? parseDate(text) : null)

/** The stretch for the calendar; without a day in it where it is none. */
export function rangeIn(days: Days | null): CalendarRange {
  const [start, end] = [calendarDay(days?.from ?? ''), calendarDay(days?.to ?? '')]
  return start && end && start.compare(end) <= 0 ? { start, end } : { start: undefined, end: undefined }
}

/**
 * The day that the first month shown holds: the last of `months` is the present one where the stretch reaches into it, since what comes after
 * cannot be chosen.
 */
export function firstShown(range: CalendarRange, today: CalendarDate, months: number): CalendarDate {
  const latest = today.set({ day: 1 }).subtract({ months: months - 1 })
  const start = range.start && new CalendarDate(range.start.year, range.start.month, range.start.day)
  if (!start) return months === 1 ? today : latest
  return start.compare(endOfMonth(latest)) <= 0 ? start : latest
}
