/** Days as texts, `2026-11-20`, and stretches of them. Pure. */
import type { Suggestion } from './suggestions.ts'

const DAY = 86_400_000

/** A first and a last day, both in it. */
export interface Days {
  from: string
  to: string
}

/** Whether the text names a day that there is. */
export function isDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false
  const at = Date.parse(`${text}T00:00:00Z`)
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text)
}

/** The day `count` days later; the text must name a day. */
export const daysLater = (day: string, count: number): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + count * DAY).toISOString().slice(0, 10)

/** The stretch in words. */
export const daysWords = ({ from, to }: Days): string => (from === to ? from : `${from} to ${to}`)

/** The first instant of a day, of the viewer's zone or of UTC, as the API takes it; what is no day stays as it is. */
export function beginOf(text: string, utc: boolean): string {
  if (!isDay(text)) return text
  return new Date(`${text}T00:00:00${utc ? 'Z' : ''}`).toISOString()
}

/** A stretch of time as somebody asked for it. */
export interface Stretch {
  words: string
  /** Null where it is none of those with a name. */
  preset: string | null
  /** Whole days; `to` is empty where it has no end. Null where it is none. */
  days: Days | null
}

/**
 * Reads one.
 * @param after where it begins: a day, or something else that is no day; empty where it has no beginning
 * @param before the day after its last
 * @param presets those with a name, by where they begin; they have no end
 */
export function stretchOf(after: string, before: string, presets: readonly Suggestion[]): Stretch {
  const named = presets.find(([begin]) => begin === after)
  if (before === '' && named) return { words: named[1], preset: after, days: null }
  if (isDay(after) && isDay(before) && after < before) {
    const days = { from: after, to: daysLater(before, -1) }
    return { words: daysWords(days), preset: null, days }
  }
  const words = [after && `after ${after}`, before && `before ${before}`].filter((part) => part !== '')
  return { words: words.join(', '), preset: null, days: isDay(after) ? { from: after, to: '' } : null }
}
