/** Instants in reports: Unix seconds as RFC 9990 has them, RFC 3339 as RFC 8460 has them, and what else reporters write. Pure. */

/** The year 2000 and 2100. Whatever is outside is no time of a report. */
const EARLIEST = 946_684_800_000
const LATEST = 4_102_444_800_000

/** Seconds (with a fraction, too), milliseconds, or a date; in Unix milliseconds. Undefined for anything else. */
export function instantOf(text: string): number | undefined {
  const trimmed = text.trim().slice(0, 64)
  const at = /^\d{1,16}(?:\.\d{1,9})?$/.test(trimmed) ? fromNumber(Number(trimmed)) : fromDate(trimmed)
  return at >= EARLIEST && at <= LATEST ? at : undefined
}

/** A number too large for seconds is in milliseconds. */
const fromNumber = (value: number): number => Math.floor(value > 100_000_000_000 ? value : value * 1000)

/** RFC 3339 §5.6; without a zone, UTC. */
function fromDate(text: string): number {
  const [, date, time = 'T00:00:00', zone = 'Z'] =
    /^(\d{4}-\d{2}-\d{2})([T ]\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?)?\s?(Z|[+-]\d{2}:?\d{2})?$/i.exec(text) ?? []
  return date === undefined ? NaN : Date.parse(`${date}${time.replace(' ', 'T')}${zone.toUpperCase()}`)
}
