/**
 * An instant in the text form of the REST interface (reference: wire format §1.3): a space, trailing zeros of the
 * fraction dropped, `+00`.
 * @param ms Unix milliseconds
 */
export function timestamp(ms: number): string {
  const [date, time] = new Date(ms).toISOString().slice(0, -1).split('T') as [string, string]
  return `${date} ${time.replace(/\.?0+$/, '')}+00`
}

/** The same where there may be none. */
export function timestampOrNull(ms: number | null): string | null {
  return ms === null ? null : timestamp(ms)
}

/** The other form, of webhooks, files and metrics: ISO 8601 with milliseconds and `Z`. */
export const isoTimestamp = (ms: number): string => new Date(ms).toISOString()
