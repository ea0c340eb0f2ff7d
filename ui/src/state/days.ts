/** Days as strings (`2026-11-20`), and ranges of them. Pure. */
import type { Suggestion } from './suggestions.ts'

const DAY = 86_400_000

/** A range of days, both inclusive. */
export interface Days {
  from: string
  to: string
}

/** Whether the text is a valid day. */
export function isDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false
  const at = Date.parse(`${text}T00:00:00Z`)
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text)
}

/** Returns the day `count` days later. The text must be a valid day. */
export const addDays = (day: string, count: number): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + count * DAY).toISOString().slice(0, 10)

/** Formats a range. */
export const formatDays = ({ from, to }: Days): string => (from === to ? from : `${from} to ${to}`)

/**
 * Returns the start of a day as an API timestamp, in the viewer's time zone or UTC. Invalid text is returned unchanged.
 */
export function startOfDay(text: string, utc: boolean): string {
  if (!isDay(text)) return text
  return new Date(`${text}T00:00:00${utc ? 'Z' : ''}`).toISOString()
}

/** A time range: a preset, whole days, or another range that only `words` describes. */
export interface TimeRange {
  words: string
  /** The selected preset; null for none. */
  preset: string | null
  /** The range as whole days; `to` is empty for an open range. Null if the range isn't in whole days. */
  days: Days | null
}

/**
 * Parses a time range.
 * @param after start of the range: a day, or a preset's value; empty if open
 * @param before the day after the last day of the range
 * @param presets presets by start; they have no end
 */
export function parseTimeRange(after: string, before: string, presets: readonly Suggestion[]): TimeRange {
  const named = presets.find(([begin]) => begin === after)
  if (before === '' && named) return { words: named[1], preset: after, days: null }
  if (isDay(after) && isDay(before) && after < before) {
    const days = { from: after, to: addDays(before, -1) }
    return { words: formatDays(days), preset: null, days }
  }
  const words = [after && `after ${after}`, before && `before ${before}`].filter((part) => part !== '')
  return { words: words.join(', '), preset: null, days: isDay(after) ? { from: after, to: '' } : null }
}
