/** Parses and formats instants, which are Unix milliseconds. */

/**
 * Parses an API timestamp, `2026-11-20 20:39:59.540771+00`, or ISO 8601.
 * Returns NaN if invalid.
 */
export function parseInstant(text: string): number {
  const iso = text.replace(' ', 'T').replace(/(\.\d{3})\d+/, '$1')
  return Date.parse(/[+-]\d\d$/.test(iso) ? `${iso}:00` : iso)
}

/**
 * Splits a sentence of the server where it contains the instant `at`, so that the caller can insert the time in the
 * viewer's time zone. The server writes `14:31 UTC`, with the date unless it is today (appliance/shaping/warm-up.ts).
 */
export function splitAroundTime(sentence: string, at: number): string[] {
  if (Number.isNaN(at)) return [sentence]
  const [day, time] = formatExactTime(at, true).split(' ') as [string, string]
  return sentence.split(new RegExp(`(?:${day} |(?<!\\d{4}-\\d\\d-\\d\\d ))${time.slice(0, 5)} UTC`))
}

const units: [label: string, ms: number][] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
]

/** Formats a duration in its largest whole unit: `3 d`, `5 h`, `12 min`, `40 s`; `0 s` below a second. */
export function formatSpan(ms: number): string {
  for (const [label, size] of units) if (ms >= size) return `${Math.floor(ms / size)} ${label}`
  return '0 s'
}

/** Formats a measured duration: `0.4 ms`, `12 ms`, `1.24 s`, `3 min 5 s`, `2 h 4 min`. */
export function formatDuration(ms: number): string {
  if (ms < 10) return `${Number(ms.toFixed(1))} ms`
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(2)} s`
  if (ms >= 3_600_000) return `${Math.floor(ms / 3_600_000)} h ${Math.floor((ms % 3_600_000) / 60_000)} min`
  return `${Math.floor(ms / 60_000)} min ${Math.floor((ms % 60_000) / 1000)} s`
}

/** Formats an instant relative to `now`: `now`, `12 min ago`, `in 3 h`. */
export function formatRelativeTime(at: number, now: number): string {
  const distance = at - now
  if (Math.abs(distance) < 1000) return 'now'
  return distance < 0 ? `${formatSpan(-distance)} ago` : `in ${formatSpan(distance)}`
}

const two = (value: number) => String(value).padStart(2, '0')

/** Formats date and time in the browser's time zone or UTC: `2026-11-20 21:39:59`. */
export function formatExactTime(at: number, inUtc: boolean): string {
  const date = new Date(at)
  if (inUtc) return date.toISOString().slice(0, 19).replace('T', ' ')
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
}

/**
 * Time zone names by offset in minutes. Cached because creating a formatter takes 0.2 ms, and lists show the zone in
 * each row.
 */
const zones = new Map<number, string>()

/** Returns the zone that `formatExactTime` used, in its short form: `UTC`, `GMT+1`. */
export function getZoneName(at: number, inUtc: boolean): string {
  if (inUtc) return 'UTC'
  const offset = new Date(at).getTimezoneOffset()
  const known = zones.get(offset)
  if (known !== undefined) return known
  const parts = new Intl.DateTimeFormat('en', { timeZoneName: 'short' }).formatToParts(at)
  const name = parts.find((part) => part.type === 'timeZoneName')?.value ?? ''
  zones.set(offset, name)
  return name
}
