/** Converts instants to and from the values of date and time fields, which are in the browser's time zone. */

/** Maximum time that an email may be scheduled ahead, in milliseconds (reference: wire format §4). */
export const MAX_SCHEDULE_AHEAD_MS = 30 * 86_400_000

const two = (value: number) => String(value).padStart(2, '0')

/** Formats an instant for `<input type="datetime-local">`: `2026-11-20T21:39` in the browser's time zone. */
export function formatDateTimeField(at: number): string {
  const date = new Date(at)
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  return `${day}T${two(date.getHours())}:${two(date.getMinutes())}`
}

/** Parses the value of such a field to ISO 8601 in UTC; null while it is incomplete. */
export function parseDateTimeField(text: string): string | null {
  const at = new Date(text).getTime()
  return Number.isNaN(at) ? null : new Date(at).toISOString()
}
