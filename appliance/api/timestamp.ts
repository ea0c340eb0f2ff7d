/**
 * Formats a time for the REST API (reference: wire format §1.3): a space, no trailing zeros in the fraction, `+00`.
 *
 * @param ms Unix milliseconds
 */
export function timestamp(ms: number): string {
  const [date, time] = new Date(ms).toISOString().slice(0, -1).split('T') as [string, string]
  return `${date} ${time.replace(/\.?0+$/, '')}+00`
}

/** Formats a time that may be null. */
export function timestampOrNull(ms: number | null): string | null {
  return ms === null ? null : timestamp(ms)
}

/** Formats a time for webhooks, files and metrics: ISO 8601 with milliseconds and `Z`. */
export const isoTimestamp = (ms: number): string => new Date(ms).toISOString()
