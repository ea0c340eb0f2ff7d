/** The dates of header fields (RFC 5322 §3.3). */

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']

/** Maximum nesting of comments; deeper nesting only occurs in attacks. */
const MAX_NESTING = 10

/**
 * A date and time without comments and folding. Includes the obsolete forms of RFC 5322 §4.3 (no seconds, years of two
 * or three digits, named zones, white space around colons), and one-digit hours, which some devices write.
 */
const DATE_TIME =
  /^(?:(?:mon|tue|wed|thu|fri|sat|sun) ?, ?)?(\d{1,2}) ?([a-z]{3}) ?(\d{2,5}) (\d{1,2}) ?: ?(\d{2})(?: ?: ?(\d{2}))? ?([+-]\d{2}[0-5]\d|[a-z]{1,5})$/i

/** Caches the last valid value, because many messages arrive per second. */
let lastValid: string | undefined

/** Whether a Date field has a valid value, in the current or obsolete form. */
export function isDateTime(value: string): boolean {
  if (value === lastValid) return true
  const isValid = matchesDateTime(value)
  if (isValid) lastValid = value
  return isValid
}

function matchesDateTime(value: string): boolean {
  const plain = withoutComments(value)
  const match = plain === undefined ? null : DATE_TIME.exec(plain.replaceAll(/\s+/g, ' ').trim())
  if (!match) return false
  const [day, hour, minute, second] = [match[1], match[4], match[5], match[6] ?? 0].map(Number)
  const month = MONTHS.indexOf(match[2]!.toLowerCase())
  // 60 is a leap second.
  const inRange = hour! <= 23 && minute! <= 59 && second! <= 60
  return month >= 0 && day! >= 1 && day! <= daysIn(fullYear(match[3]!), month) && inRange
}

/** Converts a two- or three-digit year (RFC 5322 §4.3). */
function fullYear(digits: string): number {
  const year = Number(digits)
  if (digits.length === 2) return year < 50 ? 2000 + year : 1900 + year
  return digits.length === 3 ? 1900 + year : year
}

const daysIn = (year: number, month: number): number => new Date(Date.UTC(year, month + 1, 0)).getUTCDate()

/** Replaces each comment by a space (RFC 5322 §3.2.2); undefined when they are unbalanced. */
function withoutComments(value: string): string | undefined {
  if (!/[()]/.test(value)) return value
  let [plain, depth, from] = ['', 0, 0]
  for (let at = 0; at < value.length; at++) {
    const char = value[at]!
    if (depth > 0 && char === '\\') at++
    else if (char === '(') {
      if (depth === 0) plain += `${value.slice(from, at)} `
      if (++depth > MAX_NESTING) return undefined
    } else if (char === ')') {
      if (--depth < 0) return undefined
      from = at + 1
    }
  }
  return depth === 0 ? plain + value.slice(from) : undefined
}

/** Caches the last formatted second, because many messages are formatted per second. */
let formatted = { second: -1, text: '' }

/** Formats a time (Unix milliseconds) for a header field, in UTC. */
export function formatDateTime(ms: number): string {
  const second = Math.floor(ms / 1000)
  if (second !== formatted.second)
    formatted = { second, text: new Date(ms).toUTCString().replace('GMT', '+0000') }
  return formatted.text
}

const units: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** A number and a unit, short or in words: `10m`, `2 hours`, `1 day`. */
const pattern = /^(\d{1,9})\s*(?:(s)(?:ecs?|econds?)?|(m)(?:ins?|inutes?)?|(h)(?:rs?|ours?)?|(d)(?:ays?)?)$/i

/** Parses a duration as people write it. Returns milliseconds; undefined when it is invalid. */
export function parseDuration(text: string): number | undefined {
  const match = pattern.exec(text.trim())
  if (!match) return undefined
  const [, count, ...found] = match
  const unit = found.find((letter) => letter !== undefined)!
  return Number(count) * units[unit.toLowerCase()]!
}
