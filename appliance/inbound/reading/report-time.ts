/** Parses times in reports: Unix seconds (RFC 9990), RFC 3339 (RFC 8460), and variants that reporters use. Pure. */

/** The years 2000 and 2100. Times outside are invalid. */
const EARLIEST = 946_684_800_000
const LATEST = 4_102_444_800_000

/** Parses seconds (also fractional), milliseconds, or a date. Returns Unix milliseconds, or undefined. */
export function parseInstant(text: string): number | undefined {
  const trimmed = text.trim().slice(0, 64)
  const at = /^\d{1,16}(?:\.\d{1,9})?$/.test(trimmed) ? fromNumber(Number(trimmed)) : fromDate(trimmed)
  return at >= EARLIEST && at <= LATEST ? at : undefined
}

/** Numbers too large for seconds are milliseconds. */
const fromNumber = (value: number): number => Math.floor(value > 100_000_000_000 ? value : value * 1000)

/** Parses an RFC 3339 date (§5.6); without a zone, it is UTC. */
function fromDate(text: string): number {
  const [, date, time = 'T00:00:00', zone = 'Z'] =
    /^(\d{4}-\d{2}-\d{2})([T ]\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?)?\s?(Z|[+-]\d{2}:?\d{2})?$/i.exec(text) ?? []
  return date === undefined ? NaN : Date.parse(`${date}${time.replace(' ', 'T')}${zone.toUpperCase()}`)
}
